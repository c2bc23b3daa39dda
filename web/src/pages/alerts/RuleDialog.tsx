import {
  Button,
  Group,
  Modal,
  MultiSelect,
  NumberInput,
  Select,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { keysQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { notifyDone } from "../../lib/notify";
import type { AlertRule } from "./query";
import { kindHelp, ruleBody, ruleDraft, type RuleDraft, unitAffixes, windowText, withKind } from "./rules";

interface Props {
  alerts: Schema["AlertList"];
  editing: AlertRule | "new" | undefined;
  onClose: () => void;
}

/** Adds or changes a rule. */
export function RuleDialog({ alerts, editing, onClose }: Props) {
  const rule = editing === "new" ? undefined : editing;
  return (
    <Modal
      opened={editing !== undefined}
      onClose={onClose}
      title={rule ? `Edit “${rule.name}”` : "Add alert rule"}
    >
      {editing !== undefined && <RuleForm alerts={alerts} rule={rule} onClose={onClose} />}
    </Modal>
  );
}

function RuleForm({ alerts, rule, onClose }: Omit<Props, "editing"> & { rule: AlertRule | undefined }) {
  const [draft, setDraft] = useState(() => ruleDraft(alerts.kinds[0], rule));
  const save = useSave(rule, onClose);
  const kind = alerts.kinds.find((one) => one.kind === draft.kind);
  const problems = save.error ? asApiError(save.error).problems : {};
  const change = (changed: Partial<RuleDraft>) => setDraft({ ...draft, ...changed });
  const body = ruleBody(draft);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (body) {
      save.mutate(body);
    }
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="sm">
        <Select
          label="Metric"
          description={kindHelp[draft.kind]}
          data={alerts.kinds.map((one) => ({ value: one.kind, label: one.name }))}
          value={draft.kind}
          allowDeselect={false}
          disabled={rule !== undefined}
          onChange={(chosen) => {
            const next = alerts.kinds.find((one) => one.kind === chosen);
            if (next) {
              setDraft(withKind(draft, next));
            }
          }}
          error={problems["kind"]}
        />
        <Group grow align="flex-start">
          <NumberInput
            label="Threshold"
            {...unitAffixes(kind?.unit ?? "")}
            required
            decimalScale={4}
            value={draft.threshold}
            onChange={(value) => change({ threshold: typeof value === "number" ? value : "" })}
            error={problems["threshold"]}
          />
          {kind && kind.windows.length > 0 && (
            <Select
              label="Period"
              allowDeselect={false}
              data={kind.windows.map((window) => ({ value: window, label: windowText(window) }))}
              value={draft.window}
              onChange={(window) => change({ window: window ?? "" })}
              error={problems["window"]}
            />
          )}
        </Group>
        {kind?.per_key && (
          <KeyField value={draft.key} onChange={(key) => change({ key })} error={problems["key_id"]} />
        )}
        <MultiSelect
          label="Notify"
          placeholder={draft.channels.length === 0 ? "No channel" : undefined}
          description={
            alerts.channels.length === 0
              ? "Add a channel below to send messages. Without one, alerts only appear in the history."
              : "Channels that receive a message when the alert fires and when it recovers."
          }
          data={alerts.channels.map((channel) => ({ value: channel.id, label: channel.name }))}
          value={draft.channels}
          onChange={(channels) => change({ channels })}
          error={problems["channels"]}
        />
        <TextInput
          label="Name"
          placeholder={kind?.name}
          maxLength={100}
          value={draft.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          error={problems["name"]}
        />
        {save.error && Object.keys(problems).length === 0 && (
          <ErrorPanel what="Could not save the rule" error={save.error} />
        )}
        <Text size="xs" c="dimmed">
          An alert recovers when the value is 10 % better than the threshold, so values near the threshold do
          not cause repeated messages.
        </Text>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending} disabled={!body}>
            {rule ? "Save" : "Add rule"}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface KeyFieldProps {
  value: string;
  onChange: (key: string) => void;
  error: string | undefined;
}

function KeyField({ value, onChange, error }: KeyFieldProps) {
  const { data } = useQuery(keysQuery);
  const keys = (data?.keys ?? []).filter((key) => key.state !== "revoked" || key.id === value);
  return (
    <Select
      label="API key"
      placeholder="All keys"
      clearable
      searchable
      data={keys.map((key) => ({ value: key.id, label: key.name }))}
      value={value || null}
      onChange={(key) => onChange(key ?? "")}
      error={error}
    />
  );
}

function useSave(rule: AlertRule | undefined, onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: Schema["CreateAlertRuleInputBody"]) => {
      if (!rule) {
        return must(api.POST("/alerts/rules", { body }));
      }
      const { name, threshold, window, key_id, channels } = body;
      return must(
        api.PATCH("/alerts/rules/{id}", {
          params: { path: { id: rule.id } },
          body: { name: name ?? rule.name, threshold, window, key_id: key_id ?? null, channels },
        }),
      );
    },
    onSuccess: () => {
      notifyDone("Rule saved.");
      onDone();
      return queryClient.invalidateQueries({ queryKey: ["alerts"] });
    },
  });
}
