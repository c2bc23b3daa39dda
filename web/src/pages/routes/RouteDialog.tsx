import {
  ActionIcon,
  Button,
  Group,
  Input,
  Modal,
  MultiSelect,
  NumberInput,
  Select,
  Slider,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { notifyDone } from "../../lib/notify";
import { dialText, maxPool, poolChoices, routeBody, type RouteDraft, type RouteList } from "./draft";

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

interface Props {
  /** The settings to begin with; undefined while the dialog is closed. */
  draft: RouteDraft | undefined;
  list: RouteList;
  onClose: () => void;
}

/** Adds or changes a route. */
export function RouteDialog({ draft, list, onClose }: Props) {
  return (
    <Modal
      opened={draft !== undefined}
      onClose={onClose}
      title={draft?.name ? `Edit route “${draft.name}”` : "Add route"}
    >
      {draft && <RouteForm first={draft} list={list} onClose={onClose} />}
    </Modal>
  );
}

function RouteForm({ first, list, onClose }: { first: RouteDraft; list: RouteList; onClose: () => void }) {
  const [draft, setDraft] = useState(first);
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn: (body: Schema["RouteSettings"]) =>
      must(api.PUT("/routes/{name}", { params: { path: { name: draft.name.trim() } }, body })),
    onSuccess: () => {
      notifyDone("Route saved.");
      onClose();
      return queryClient.invalidateQueries({ queryKey: ["routes"] });
    },
  });
  const problems = save.error ? asApiError(save.error).problems : {};
  const poolProblem = Object.entries(problems).find(([param]) => param.startsWith("pool"))?.[1];
  const sharesProblem = Object.entries(problems).find(([param]) => param.startsWith("shares"))?.[1];
  const change = (changed: Partial<RouteDraft>) => setDraft({ ...draft, ...changed });
  const changeShare = (at: number, changed: Partial<RouteDraft["shares"][number]>) =>
    change({ shares: draft.shares.map((share, i) => (i === at ? { ...share, ...changed } : share)) });
  const models = [...new Set([...poolChoices(list), ...draft.pool])];
  const body = routeBody(draft);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (body) {
      save.mutate(body);
    }
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="sm">
        {!first.name && (
          <TextInput
            label="Name"
            description="Requests use it as the model, such as support."
            required
            data-autofocus
            maxLength={64}
            value={draft.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            error={problems["name"]}
          />
        )}
        <MultiSelect
          label="Pool"
          description={`Leave empty to use the default pool. A listed pool has at most ${maxPool} models and does not change by itself.`}
          data={models}
          searchable
          clearable
          maxValues={maxPool}
          value={draft.pool}
          onChange={(pool) => change({ pool })}
          error={poolProblem}
        />
        <Input.Wrapper label="Dial" description={dialText(draft.tradeoff)} error={problems["tradeoff"]}>
          <Slider
            thumbLabel="Dial from cheapest to best"
            min={0}
            max={1}
            step={0.05}
            label={null}
            marks={[
              { value: 0, label: "Cheapest" },
              { value: 0.5, label: "Balanced" },
              { value: 1, label: "Best" },
            ]}
            mx="lg"
            mb="lg"
            value={draft.tradeoff}
            onChange={(tradeoff) => change({ tradeoff })}
          />
        </Input.Wrapper>
        <Group grow align="flex-start">
          <Select
            label="Lowest effort"
            placeholder="No limit"
            clearable
            data={efforts}
            value={draft.min}
            onChange={(min) => change({ min })}
            error={problems["min_effort"]}
          />
          <Select
            label="Highest effort"
            placeholder="No limit"
            clearable
            data={efforts}
            value={draft.max}
            onChange={(max) => change({ max })}
            error={problems["max_effort"]}
          />
        </Group>
        <Input.Wrapper
          label="Shares"
          labelElement="div"
          description="Send a fixed part of the sessions to a model."
          error={sharesProblem}
        >
          <Stack gap="xs" mt={4}>
            {draft.shares.map((share, i) => (
              <Group key={i} gap="xs" wrap="nowrap">
                <NumberInput
                  aria-label={`Share ${i + 1} in percent`}
                  suffix=" %"
                  min={0}
                  max={100}
                  w={100}
                  value={share.percent}
                  onChange={(value) => changeShare(i, { percent: typeof value === "number" ? value : "" })}
                />
                <Select
                  aria-label={`Model of share ${i + 1}`}
                  flex={1}
                  searchable
                  data={[...new Set([...models, ...(share.model ? [share.model] : [])])]}
                  value={share.model || null}
                  onChange={(model) => changeShare(i, { model: model ?? "" })}
                />
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Remove share ${i + 1}`}
                  onClick={() => change({ shares: draft.shares.filter((_, at) => at !== i) })}
                >
                  <Icon name="x" />
                </ActionIcon>
              </Group>
            ))}
            <Button
              size="xs"
              variant="default"
              style={{ alignSelf: "flex-start" }}
              onClick={() => change({ shares: [...draft.shares, { model: "", percent: 5 }] })}
            >
              Add share
            </Button>
          </Stack>
        </Input.Wrapper>
        {save.error && Object.keys(problems).length === 0 && (
          <ErrorPanel what="Could not save the route" error={save.error} />
        )}
        <Text size="xs" c="dimmed">
          The change applies to the next request.
        </Text>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending} disabled={!body}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
