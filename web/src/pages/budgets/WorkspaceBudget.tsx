import { Button, Checkbox, Group, Modal, NumberInput, Select, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { workspaceQuery } from "../../api/manage";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { notifyDone } from "../../lib/notify";
import { useSession } from "../../lib/session";

/** A button that sets the budget of a workspace without one. */
export function WorkspaceBudget() {
  const { may } = useSession();
  const [opened, setOpened] = useState(false);
  const manages = may("manage_workspace");
  const { data } = useQuery({ ...workspaceQuery, enabled: manages });
  if (!manages || !data || data.budget) {
    return null;
  }
  return (
    <>
      <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setOpened(true)}>
        Set workspace budget
      </Button>
      <Modal opened={opened} onClose={() => setOpened(false)} title="Set workspace budget">
        {opened && <BudgetForm onClose={() => setOpened(false)} />}
      </Modal>
    </>
  );
}

type Period = Schema["BudgetView"]["period"];

const periods: { value: Period; label: string }[] = [
  { value: "day", label: "Per day" },
  { value: "week", label: "Per week" },
  { value: "month", label: "Per month" },
  { value: "total", label: "In total" },
];

function BudgetForm({ onClose }: { onClose: () => void }) {
  const { may } = useSession();
  const [amount, setAmount] = useState<number | "">("");
  const [period, setPeriod] = useState<Period>("month");
  const [warn, setWarn] = useState<number | "">(80);
  const [warnOnly, setWarnOnly] = useState(false);
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn: () =>
      must(
        api.PATCH("/workspace", {
          body: {
            budget: { amount_usd: String(amount), period, warn_percent: warn || 0, warn_only: warnOnly },
          },
        }),
      ),
    onSuccess: () => {
      notifyDone("Budget saved.");
      onClose();
      void queryClient.invalidateQueries({ queryKey: ["workspace"] });
      return queryClient.invalidateQueries({ queryKey: ["budgets"] });
    },
  });
  const problems = save.error ? asApiError(save.error).problems : {};
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          Limits the total spending of this workspace: all API keys and the Playground.
          {!may("manage_instance") && " Only the gateway operator can raise or remove it later."}
        </Text>
        <Group grow align="flex-start">
          <NumberInput
            label="Amount"
            prefix="$"
            min={0}
            decimalScale={6}
            required
            data-autofocus
            value={amount}
            onChange={(value) => setAmount(typeof value === "number" ? value : "")}
            error={problems["budget.amount_usd"] ?? problems["budget"]}
          />
          <Select
            label="Period"
            allowDeselect={false}
            data={periods}
            value={period}
            onChange={(chosen) => setPeriod((chosen ?? "month") as Period)}
          />
        </Group>
        <NumberInput
          label="Warn at"
          suffix=" %"
          min={0}
          max={100}
          value={warn}
          onChange={(value) => setWarn(typeof value === "number" ? value : "")}
        />
        <Checkbox
          label="Warn only: keep serving requests when the budget is used up"
          checked={warnOnly}
          onChange={(event) => setWarnOnly(event.currentTarget.checked)}
        />
        {save.error && Object.keys(problems).length === 0 && (
          <ErrorPanel what="Could not save the budget" error={save.error} />
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending} disabled={amount === "" || amount <= 0}>
            Set budget
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
