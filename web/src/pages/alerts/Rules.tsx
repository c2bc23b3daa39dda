import { ActionIcon, Group, Menu, Switch, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { StateBadge } from "../../components/badges";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { type Column, DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { notifyDone, notifyFailed } from "../../lib/notify";
import type { AlertRule } from "./query";
import { boundText, muteSpans, muteUntil, windowText } from "./rules";

const looks = {
  ok: { icon: "check", colour: "green", word: "ok" },
  firing: { icon: "alert", colour: "red", word: "firing" },
  unknown: { icon: "circle", colour: "gray", word: "no data" },
  disabled: { icon: "stop", colour: "gray", word: "off" },
} as const;

/** The state of a rule, with the values on hover. */
function RuleState({ rule }: { rule: AlertRule }) {
  const firing = rule.values.filter((value) => value.firing);
  const detail = firing.map((value) => [value.label, value.text].filter(Boolean).join(": ")).join(", ");
  return (
    <Group gap={6} wrap="nowrap">
      <StateBadge look={looks[rule.state]} detail={detail || undefined} />
      {rule.muted_until && <StateBadge look={{ icon: "skip", colour: "gray", word: "muted" }} />}
    </Group>
  );
}

/** The current value: the value of a firing subject, or the first value. */
function valueText(rule: AlertRule): string {
  const value = rule.values.find((one) => one.firing) ?? rule.values[0];
  if (!value) {
    return "—";
  }
  const more = rule.values.length > 1 ? ` (${rule.values.length})` : "";
  return `${value.text}${more}`;
}

interface Props {
  alerts: Schema["AlertList"];
  manages: boolean;
  onEdit: (rule: AlertRule) => void;
}

/** The rules of the workspace. */
export function Rules({ alerts, manages, onEdit }: Props) {
  const [removing, setRemoving] = useState<AlertRule>();
  const menu = (rule: AlertRule) =>
    manages ? <RuleMenu rule={rule} onEdit={onEdit} onRemove={setRemoving} /> : null;
  const kindName = (rule: AlertRule) =>
    alerts.kinds.find((kind) => kind.kind === rule.kind)?.name ?? rule.kind;
  const columns: Column<AlertRule>[] = [
    { id: "name", label: "Rule", render: (r) => r.name, maxWidth: 260, sort: (r) => r.name },
    { id: "state", label: "State", render: (r) => <RuleState rule={r} />, sort: (r) => r.state },
    { id: "kind", label: "Metric", render: kindName, maxWidth: 220 },
    { id: "bound", label: "Threshold", render: (r) => boundText(r, alerts.kinds), numeric: true },
    { id: "value", label: "Now", render: valueText, numeric: true },
    { id: "window", label: "Period", render: (r) => windowText(r.window) },
    { id: "channels", label: "Notifies", render: (r) => channelNames(r, alerts), maxWidth: 200 },
    { id: "on", label: "On", render: (r) => <RuleSwitch rule={r} disabled={!manages} /> },
    { id: "menu", label: "Actions", render: menu },
  ];
  return (
    <Section title="Rules">
      {alerts.rules.length === 0 ? (
        <EmptyState icon="alert" title="No alert rules yet">
          Add a rule to get a message when a value crosses its threshold, and again when it recovers.
        </EmptyState>
      ) : (
        <DataTable
          label="Alert rules"
          rows={alerts.rules}
          columns={columns}
          rowKey={(r) => r.id}
          phone={(r) => ({
            top: (
              <>
                <Text fw={600} truncate>
                  {r.name}
                </Text>
                <Group gap="xs" wrap="nowrap">
                  <RuleState rule={r} />
                  {menu(r)}
                </Group>
              </>
            ),
            bottom: (
              <>
                <Text size="xs" c="dimmed">
                  {kindName(r)} {boundText(r, alerts.kinds)}
                </Text>
                <Text size="xs" ff="monospace">
                  {valueText(r)}
                </Text>
              </>
            ),
          })}
        />
      )}
      <RemoveRule rule={removing} onClose={() => setRemoving(undefined)} />
    </Section>
  );
}

function channelNames(rule: AlertRule, alerts: Schema["AlertList"]): string {
  const names = rule.channels.map((id) => alerts.channels.find((c) => c.id === id)?.name ?? id);
  return names.join(", ") || "—";
}

function useChangeRule(done?: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ id, body }: { id: string; body: Schema["UpdateAlertRuleInputBody"] }) =>
      must(api.PATCH("/alerts/rules/{id}", { params: { path: { id } }, body })),
    onSuccess: () => {
      if (done) {
        notifyDone(done);
      }
      return queryClient.invalidateQueries({ queryKey: ["alerts"] });
    },
    onError: (error) => notifyFailed(asApiError(error).message),
  });
}

function RuleSwitch({ rule, disabled }: { rule: AlertRule; disabled: boolean }) {
  const change = useChangeRule();
  return (
    <Switch
      size="xs"
      aria-label={`Turn on ${rule.name}`}
      checked={rule.enabled}
      disabled={disabled || change.isPending}
      onChange={(event) => change.mutate({ id: rule.id, body: { enabled: event.currentTarget.checked } })}
    />
  );
}

interface MenuProps {
  rule: AlertRule;
  onEdit: (rule: AlertRule) => void;
  onRemove: (rule: AlertRule) => void;
}

function RuleMenu({ rule, onEdit, onRemove }: MenuProps) {
  const mute = useChangeRule("Rule changed.");
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${rule.name}`}>
          <Icon name="dots" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Icon name="edit" size={14} />} onClick={() => onEdit(rule)}>
          Edit
        </Menu.Item>
        {rule.muted_until ? (
          <>
            <Menu.Label>
              Muted until <Time at={rule.muted_until} as="moment" />
            </Menu.Label>
            <Menu.Item onClick={() => mute.mutate({ id: rule.id, body: { muted_until: null } })}>
              Unmute
            </Menu.Item>
          </>
        ) : (
          <>
            <Menu.Label>Mute for</Menu.Label>
            {muteSpans.map((span) => (
              <Menu.Item
                key={span.hours}
                onClick={() => mute.mutate({ id: rule.id, body: { muted_until: muteUntil(span.hours) } })}
              >
                {span.label}
              </Menu.Item>
            ))}
          </>
        )}
        <Menu.Divider />
        <Menu.Item color="red" leftSection={<Icon name="trash" size={14} />} onClick={() => onRemove(rule)}>
          Delete
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function RemoveRule({ rule, onClose }: { rule: AlertRule | undefined; onClose: () => void }) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: (id: string) => must(api.DELETE("/alerts/rules/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      onClose();
      return queryClient.invalidateQueries({ queryKey: ["alerts"] });
    },
  });
  return (
    <ConfirmDialog
      opened={rule !== undefined}
      title={`Delete “${rule?.name ?? ""}”`}
      action="Delete"
      pending={remove.isPending}
      error={remove.error && <ErrorPanel what="Could not delete the rule" error={remove.error} />}
      onConfirm={() => rule && remove.mutate(rule.id)}
      onClose={onClose}
    >
      No further messages are sent for this rule. Its events stay in the history.
    </ConfirmDialog>
  );
}
