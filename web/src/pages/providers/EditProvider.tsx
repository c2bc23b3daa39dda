import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";

import { asApiError } from "../../api/errors";
import { ErrorPanel } from "../../components/ErrorPanel";
import type { ProviderActions } from "./actions";
import type { Provider } from "./providers";

interface Props {
  opened: boolean;
  provider: Provider;
  change: ProviderActions["change"];
  onClose: () => void;
}

/** Changes the base URL of a provider. Another host needs a new key. */
export function EditProvider(props: Props) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={`Change ${props.provider.title}`}>
      {props.opened && <Form {...props} />}
    </Modal>
  );
}

function Form({ provider, change, onClose }: Props) {
  const [baseUrl, setBaseUrl] = useState(provider.base_url);
  const [key, setKey] = useState("");
  const problems = change.error ? asApiError(change.error).problems : {};
  const close = () => {
    change.reset();
    onClose();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate(
          { base_url: baseUrl.trim(), ...(key.trim() && { key: key.trim() }) },
          { onSuccess: close },
        );
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Base URL"
          value={baseUrl}
          onChange={(event) => setBaseUrl(event.currentTarget.value)}
          error={problems["base_url"]}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <PasswordInput
          label="New API key"
          description="Replaces all stored keys. Required if the host changes: a stored key is sent only to the host it was entered for."
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          error={problems["key"]}
          autoComplete="off"
          spellCheck={false}
          visibilityToggleButtonProps={{ "aria-label": "Show key" }}
        />
        {change.error && Object.keys(problems).length === 0 && (
          <ErrorPanel what="Could not change the provider" error={change.error} />
        )}
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            Applies to new requests within 5 seconds.
          </Text>
          <Group gap="xs" ml="auto">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={change.isPending}>
              Save
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}
