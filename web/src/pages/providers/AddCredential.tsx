import { Button, Group, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { useState } from "react";

import { ErrorPanel } from "../../components/ErrorPanel";

interface Props {
  opened: boolean;
  title: string;
  pending: boolean;
  error: unknown;
  onAdd: (secret: string) => void;
  onClose: () => void;
}

/** Takes a provider's API key. It is never shown again, not even here. */
export function AddCredential(props: Props) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={`Add a credential to ${props.title}`}>
      {props.opened && <Form {...props} />}
    </Modal>
  );
}

function Form({ title, pending, error, onAdd, onClose }: Props) {
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
          label={`API key of ${title}`}
          description="Stored encrypted, sent only to this provider, and never shown again. It is used at once."
          value={secret}
          onChange={(event) => setSecret(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          visibilityToggleButtonProps={{ "aria-label": "Show what is typed" }}
          data-autofocus
          required
        />
        {Boolean(error) && <ErrorPanel what="The credential could not be added" error={error} />}
        <Group justify="space-between" gap="xs">
          <Text size="xs" c="dimmed">
            Several credentials share the load; one that fails rests.
          </Text>
          <Group gap="xs" ml="auto">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={pending} disabled={!value}>
              Add credential
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}
