import { Button, Group, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { useState } from "react";

import { ErrorPanel } from "../../components/ErrorPanel";

interface Props {
  opened: boolean;
  title: string;
  /** The last characters of the credential that the new key replaces, if any. */
  replaces?: string;
  pending: boolean;
  error: unknown;
  onAdd: (secret: string) => void;
  onClose: () => void;
}

/** Adds an API key to a provider, or replaces one. The key is never shown again. */
export function AddCredential(props: Props) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={dialogTitle(props)}>
      {props.opened && <Form {...props} />}
    </Modal>
  );
}

function dialogTitle({ title, replaces }: Props): string {
  return replaces ? `Rotate credential ${replaces} of ${title}` : `Add credential to ${title}`;
}

function Form({ title, replaces, pending, error, onAdd, onClose }: Props) {
  const [secret, setSecret] = useState("");
  const value = secret.trim();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (value) {
          onAdd(value);
        }
      }}
    >
      <Stack gap="sm">
        <PasswordInput
          label={`${title} API key`}
          description="Stored encrypted, sent only to this provider and never shown again. Takes effect immediately."
          value={secret}
          onChange={(event) => setSecret(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          visibilityToggleButtonProps={{ "aria-label": "Show key" }}
          data-autofocus
          required
        />
        {Boolean(error) && (
          <ErrorPanel what={`Could not ${replaces ? "rotate" : "add"} the credential`} error={error} />
        )}
        <Group justify="space-between" gap="xs">
          <Text size="xs" c="dimmed">
            {replaces
              ? "New requests use the new key. Revoke the old key at the provider afterwards."
              : "Requests are spread across all credentials. A credential that fails is skipped for a while."}
          </Text>
          <Group gap="xs" ml="auto">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={pending} disabled={!value}>
              {replaces ? "Rotate" : "Add credential"}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}
