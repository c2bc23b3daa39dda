import { ActionIcon, Badge, Box, Code, Group, Text, Tooltip } from "@mantine/core";
import { useState } from "react";

import { Countdown } from "../../components/CircuitBadge";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { Lock } from "../../components/Lock";
import type { ProviderActions } from "./actions";
import { AddCredential } from "./AddCredential";
import { type Credential, credentialSource, hintText, type Provider } from "./providers";

interface Props {
  provider: Provider;
  /** Whether the user may add, rotate and remove credentials. */
  editable: boolean;
  rotate: ProviderActions["rotate"];
  remove: ProviderActions["remove"];
}

/** The credentials of a provider with source, last four characters and back-off state. */
export function Credentials({ provider, editable, rotate, remove }: Props) {
  const [removing, setRemoving] = useState<Credential>();
  const [rotating, setRotating] = useState<Credential>();
  const closeRotation = () => {
    setRotating(undefined);
    rotate.reset();
  };
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
          onRotate={editable && credential.removable ? () => setRotating(credential) : undefined}
          onRemove={editable && credential.removable ? () => setRemoving(credential) : undefined}
        />
      ))}
      <AddCredential
        opened={rotating !== undefined}
        title={provider.title}
        replaces={hintText(rotating?.hint ?? "")}
        pending={rotate.isPending}
        error={rotate.error}
        onAdd={(secret) =>
          rotating && rotate.mutate({ id: rotating.id, secret }, { onSuccess: closeRotation })
        }
        onClose={closeRotation}
      />
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

interface LineProps {
  credential: Credential;
  onRotate?: () => void;
  onRemove?: () => void;
}

function Line({ credential, onRotate, onRemove }: LineProps) {
  const { name, fixed } = credentialSource(credential.source);
  return (
    <Group gap="xs" mih={28} wrap="nowrap">
      <Icon name="key" size={14} />
      <Code>{hintText(credential.hint)}</Code>
      <Text size="sm" truncate>
        {name}
      </Text>
      {fixed && <Lock reason={fixed} />}
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
      {onRotate && (
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={`Rotate credential ${hintText(credential.hint)}`}
          onClick={onRotate}
        >
          <Icon name="refresh" size={14} />
        </ActionIcon>
      )}
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
