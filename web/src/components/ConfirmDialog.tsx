import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";

interface Props {
  opened: boolean;
  /** The action and its object: 'Revoke "ci"'. */
  title: string;
  /** The consequences. */
  children: ReactNode;
  /** Label of the button: "Revoke". */
  action: string;
  /** Text that the user must type first. */
  typed?: string;
  pending?: boolean;
  error?: ReactNode;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks for confirmation of an irreversible action. */
export function ConfirmDialog(props: Props) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={props.title}>
      {props.opened && <ConfirmForm {...props} />}
    </Modal>
  );
}

function ConfirmForm({ children, action, typed, pending, error, onConfirm, onClose }: Props) {
  const [text, setText] = useState("");
  const ready = !typed || text === typed;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) {
          onConfirm();
        }
      }}
    >
      <Stack gap="sm">
        <Text size="sm" component="div">
          {children}
        </Text>
        {typed && (
          <TextInput
            label={`Type ${typed} to confirm`}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
        )}
        {error}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red" loading={pending} disabled={!ready}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
