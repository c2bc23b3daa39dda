import { Button, Group, Modal, NumberInput, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { ErrorPanel } from "../../components/ErrorPanel";
import { formatMoney } from "../../lib/money";
import { notifyDone } from "../../lib/notify";
import { useSession } from "../../lib/session";
import type { Budget } from "./query";
import { kindLabels } from "./text";

interface Props {
  budget: Budget;
  onClose: () => void;
}

/** Changes the amount of a budget. */
export function EditBudget({ budget, onClose }: Props) {
  return (
    <Modal opened onClose={onClose} title={`Edit budget “${budget.name}”`}>
      <AmountForm budget={budget} onClose={onClose} />
    </Modal>
  );
}

function AmountForm({ budget, onClose }: Props) {
  const [amount, setAmount] = useState<number | "">(Number(budget.amount_usd));
  const { may } = useSession();
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn: (dollars: number) => saveAmount(budget, String(dollars)),
    onSuccess: () => {
      notifyDone("Budget saved.");
      onClose();
      void queryClient.invalidateQueries({ queryKey: ["keys"] });
      void queryClient.invalidateQueries({ queryKey: ["workspace"] });
      return queryClient.invalidateQueries({ queryKey: ["budgets"] });
    },
  });
  const problems = save.error ? asApiError(save.error).problems : {};
  const lowerOnly = budget.kind === "workspace" && !may("manage_instance");
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (amount !== "" && amount > 0) {
      save.mutate(amount);
    }
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="sm">
        <NumberInput
          label="Amount"
          description={budget.period === "total" ? "In total" : `Per ${budget.period}`}
          prefix="$"
          min={0}
          decimalScale={6}
          required
          data-autofocus
          value={amount}
          onChange={(value) => setAmount(typeof value === "number" ? value : "")}
          error={problems["budget.amount_usd"] ?? problems["budget"]}
        />
        <Text size="sm" c="dimmed">
          {formatMoney(budget.spent_usd)} spent so far. The change applies immediately.
          {(budget.kind === "session" || budget.kind === "user") &&
            ` It applies to every ${kindLabels[budget.kind].toLowerCase()} of the key ${budget.key_name ?? ""}.`}
          {lowerOnly && " Only the gateway operator can raise the workspace budget."}
        </Text>
        {save.error && <ErrorPanel what="Could not save the budget" error={save.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending} disabled={amount === "" || amount <= 0}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** saveAmount changes the amount and keeps the other settings of the budget. */
async function saveAmount(budget: Budget, amount_usd: string): Promise<unknown> {
  if (budget.kind === "workspace") {
    const { budget: now } = await must(api.GET("/workspace"));
    return must(api.PATCH("/workspace", { body: { budget: changed(now, amount_usd) } }));
  }
  const id = budget.key_id ?? "";
  const key = await must(api.GET("/keys/{id}", { params: { path: { id } } }));
  const path = { params: { path: { id } } };
  if (budget.kind === "key") {
    return must(api.PATCH("/keys/{id}", { ...path, body: { budget: changed(key.budget, amount_usd) } }));
  }
  const sessions =
    budget.kind === "session"
      ? { ...key.sessions, budget: changed(key.sessions?.budget, amount_usd) }
      : { ...key.sessions, user_budget: changed(key.sessions?.user_budget, amount_usd) };
  return must(api.PATCH("/keys/{id}", { ...path, body: { sessions } }));
}

function changed(budget: Schema["BudgetView"] | undefined, amount_usd: string): Schema["BudgetView"] {
  if (!budget) {
    throw new Error("The budget was removed.");
  }
  return { ...budget, amount_usd };
}
