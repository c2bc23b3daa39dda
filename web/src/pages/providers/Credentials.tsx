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
  /** Whether the user may add and remove credentials. */
  editable: boolean;
  remove: ProviderActions["remove"];
}

/** The credentials of a provider with source, last four characters and back-off state. */
export function Credentials({ provider, editable, remove }: Props) {
  const [removing, setRemoving] = useState<Credential>();
  if (provider.credentials.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {provider.simulated ? "Not needed" : "None. Calls are sent without a credential."}
      </Text>
    );
  }
  return (
    <>
      {provider.credentials.map((credential) => (
        <Line
          key={credential.id}
          credential={credential}
          onRemove={editable && credential.removable ? () => setRemoving(credential) : undefined}
        />
      ))}
      <ConfirmDialog
        opened={removing !== undefined}
        title={`Remove credential ${hintText(removing?.hint ?? "")} of ${provider.title}`}
        action="Remove"
        pending={remove.isPending}
        error={remove.error && <ErrorPanel what="Could not remove the credential" error={remove.error} />}
        onClose={() => {
          setRemoving(undefined);
          remove.reset();
        }}
        onConfirm={() => removing && remove.mutate(removing.id, { onSuccess: () => setRemoving(undefined) })}
      >
        The credential is deleted and no longer used.{" "}
        {provider.credentials.length === 1 &&
          `This is the only credential of ${provider.title}: calls will fail without it.`}
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
      {credential.backing_off_until && (
        <Tooltip label={credential.reason_text ?? "Recent calls failed."}>
          <Group gap={4} wrap="nowrap" tabIndex={0}>
            <Badge size="sm" color="orange" radius="sm" leftSection={<Icon name="clock" size={11} />}>
              Backing off
            </Badge>
            <Countdown until={credential.backing_off_until} what="resumes" />
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
