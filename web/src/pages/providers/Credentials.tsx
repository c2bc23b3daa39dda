import { ActionIcon, Badge, Box, Code, Group, Text, Tooltip } from "@mantine/core";
import { useState } from "react";

import { Countdown } from "../../components/CircuitBadge";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import type { ProviderActions } from "./actions";
import { type Credential, credentialSource, hintText, type Provider } from "./providers";

interface Props {
  provider: Provider;
  /** Whether the person may add and remove. */
  editable: boolean;
  remove: ProviderActions["remove"];
}

/** The credentials of a provider: where each comes from, its last four characters, and whether it rests. */
export function Credentials({ provider, editable, remove }: Props) {
  const [leaving, setLeaving] = useState<Credential>();
  if (provider.credentials.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {provider.simulated ? "None needed." : "None: calls are made without one."}
      </Text>
    );
  }
  return (
    <>
      {provider.credentials.map((credential) => (
        <Line
          key={credential.id}
          credential={credential}
          onRemove={editable && credential.removable ? () => setLeaving(credential) : undefined}
        />
      ))}
      <ConfirmDialog
        opened={leaving !== undefined}
        title={`Remove credential ${hintText(leaving?.hint ?? "")} of ${provider.title}`}
        action="Remove"
        pending={remove.isPending}
        error={remove.error && <ErrorPanel what="The credential could not be removed" error={remove.error} />}
        onClose={() => {
          setLeaving(undefined);
          remove.reset();
        }}
        onConfirm={() => leaving && remove.mutate(leaving.id, { onSuccess: () => setLeaving(undefined) })}
      >
        It is deleted here and no longer used, at once.{" "}
        {provider.credentials.length === 1 &&
          `It is the only credential of ${provider.title}: calls to it will fail.`}
      </ConfirmDialog>
    </>
  );
}

function Line({ credential, onRemove }: { credential: Credential; onRemove?: () => void }) {
  const { name, fixed } = credentialSource(credential.source);
  return (
    <Group gap="xs" mih={28} wrap="nowrap">
      <Icon name="key" size={14} />
      <Code>{hintText(credential.hint)}</Code>
      <Text size="sm" truncate>
        {name}
      </Text>
      {fixed && (
        <Tooltip label={fixed}>
          <Badge size="xs" color="gray" radius="sm" tabIndex={0} style={{ flexShrink: 0 }}>
            read-only
          </Badge>
        </Tooltip>
      )}
      {credential.resting_until && (
        <Tooltip label={credential.reason_text ?? "It failed lately."}>
          <Group gap={4} wrap="nowrap" tabIndex={0}>
            <Badge size="sm" color="orange" radius="sm" leftSection={<Icon name="clock" size={11} />}>
              resting
            </Badge>
            <Countdown until={credential.resting_until} what="back" />
          </Group>
        </Tooltip>
      )}
      <Box flex={1} />
      {onRemove && (
        <ActionIcon
          variant="subtle"
          color="red"
          size="sm"
          aria-label={`Remove credential ${hintText(credential.hint)}`}
          onClick={onRemove}
        >
          <Icon name="trash" size={14} />
        </ActionIcon>
      )}
    </Group>
  );
}
