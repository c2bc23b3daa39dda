import { ActionIcon, Button, Group, Menu, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { type Column, DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { notifyDone, notifyFailed } from "../../lib/notify";
import { ChannelDialog, EditChannelDialog, SigningKeyDialog } from "./ChannelDialog";
import type { AlertChannel } from "./query";

const types: Record<AlertChannel["type"], string> = { webhook: "Webhook", slack: "Slack", email: "E-mail" };

/** The channels of the workspace. */
export function Channels({ alerts, manages }: { alerts: Schema["AlertList"]; manages: boolean }) {
  const [adding, setAdding] = useState(false);
  const [created, setCreated] = useState<Schema["NewAlertChannel"]>();
  const [editing, setEditing] = useState<AlertChannel>();
  const [removing, setRemoving] = useState<AlertChannel>();
  const actions = (channel: AlertChannel) =>
    manages ? (
      <Group gap={4} wrap="nowrap">
        <TestButton channel={channel} />
        <ChannelMenu channel={channel} onEdit={setEditing} onRemove={setRemoving} />
      </Group>
    ) : null;
  const columns: Column<AlertChannel>[] = [
    { id: "name", label: "Channel", render: (c) => c.name, maxWidth: 240 },
    { id: "type", label: "Type", render: (c) => types[c.type] },
    { id: "target", label: "Destination", render: (c) => c.target, maxWidth: 360 },
    { id: "created", label: "Added", render: (c) => <Time at={c.created_at} as="day" /> },
    { id: "menu", label: "Actions", render: actions },
  ];
  return (
    <Section
      title="Channels"
      actions={
        manages && (
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon name="plus" size={14} />}
            onClick={() => setAdding(true)}
          >
            Add channel
          </Button>
        )
      }
    >
      {alerts.channels.length === 0 ? (
        <EmptyState icon="link" title="No channels yet">
          {alerts.email_available
            ? "Add a webhook, a Slack-compatible webhook or e-mail addresses to receive messages."
            : "Add a webhook or a Slack-compatible webhook to receive messages."}
        </EmptyState>
      ) : (
        <DataTable
          label="Alert channels"
          rows={alerts.channels}
          columns={columns}
          rowKey={(c) => c.id}
          phone={(c) => ({
            top: (
              <>
                <Text fw={600} truncate>
                  {c.name}
                </Text>
                {actions(c)}
              </>
            ),
            bottom: (
              <Text size="xs" c="dimmed" truncate>
                {types[c.type]} · {c.target}
              </Text>
            ),
          })}
        />
      )}
      <ChannelDialog
        opened={adding}
        email={alerts.email_available}
        onClose={() => setAdding(false)}
        onCreated={(channel) => {
          setAdding(false);
          if (channel.signing_key) {
            setCreated(channel);
          }
        }}
      />
      <SigningKeyDialog created={created} onClose={() => setCreated(undefined)} />
      <EditChannelDialog channel={editing} onClose={() => setEditing(undefined)} />
      <RemoveChannel channel={removing} onClose={() => setRemoving(undefined)} />
    </Section>
  );
}

function TestButton({ channel }: { channel: AlertChannel }) {
  const queryClient = useQueryClient();
  const test = useMutation({
    mutationFn: () => must(api.POST("/alerts/channels/{id}/test", { params: { path: { id: channel.id } } })),
    onSuccess: (delivery) => {
      if (delivery.state === "delivered") {
        notifyDone(`Test sent to ${channel.name}.`);
      } else {
        notifyFailed(`Test to ${channel.name} failed: ${delivery.error ?? "unknown error"}.`);
      }
      return queryClient.invalidateQueries({ queryKey: ["alerts", "history"] });
    },
    onError: (error) => notifyFailed(asApiError(error).message),
  });
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={test.isPending}
      aria-label={`Send test to ${channel.name}`}
      onClick={() => test.mutate()}
    >
      Send test
    </Button>
  );
}

function ChannelMenu({
  channel,
  onEdit,
  onRemove,
}: {
  channel: AlertChannel;
  onEdit: (channel: AlertChannel) => void;
  onRemove: (channel: AlertChannel) => void;
}) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for channel ${channel.name}`}>
          <Icon name="dots" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Icon name="edit" size={14} />} onClick={() => onEdit(channel)}>
          Edit
        </Menu.Item>
        <Menu.Item
          color="red"
          leftSection={<Icon name="trash" size={14} />}
          onClick={() => onRemove(channel)}
        >
          Delete
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function RemoveChannel({ channel, onClose }: { channel: AlertChannel | undefined; onClose: () => void }) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: (id: string) => must(api.DELETE("/alerts/channels/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      onClose();
      return queryClient.invalidateQueries({ queryKey: ["alerts"] });
    },
  });
  return (
    <ConfirmDialog
      opened={channel !== undefined}
      title={`Delete “${channel?.name ?? ""}”`}
      action="Delete"
      pending={remove.isPending}
      error={remove.error && <ErrorPanel what="Could not delete the channel" error={remove.error} />}
      onConfirm={() => channel && remove.mutate(channel.id)}
      onClose={() => {
        remove.reset();
        onClose();
      }}
    >
      Pending messages for this channel are not sent.
    </ConfirmDialog>
  );
}
