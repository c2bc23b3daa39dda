import { Button, Group, List, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api } from "../../api/client";
import { asApiError } from "../../api/errors";
import { sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { useSession } from "../../lib/session";
import { storeText } from "../../lib/stored";

/** Deletes the signed-in account after asking for its password. */
export function DeleteAccount() {
  const { account } = useSession();
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Group gap="sm">
        <Button
          color="red"
          variant="outline"
          leftSection={<Icon name="trash" size={14} />}
          onClick={() => setOpened(true)}
        >
          Delete account
        </Button>
        <Text size="sm" c="dimmed">
          Permanently removes {account.email} from this gateway.
        </Text>
      </Group>
      <Modal opened={opened} onClose={() => setOpened(false)} title={`Delete ${account.email}`}>
        {opened && <DeleteForm onClose={() => setOpened(false)} />}
      </Modal>
    </>
  );
}

function DeleteForm({ onClose }: { onClose: () => void }) {
  const { workspaces } = useSession();
  const queryClient = useQueryClient();
  const [password, setPassword] = useState("");
  const remove = useMutation({
    mutationFn: () => api.POST("/account/delete", { body: { password } }),
    onSuccess: async () => {
      storeText("workspace", "");
      queryClient.removeQueries({ predicate: (query) => query.queryKey[0] !== "session" });
      await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
    },
  });
  const error = remove.error ? asApiError(remove.error) : undefined;
  const wrong = error?.code === "WRONG_CREDENTIALS" ? error.message : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        remove.mutate();
      }}
    >
      <Stack gap="sm">
        <List size="sm" spacing={4}>
          <List.Item>You are signed out everywhere. A deleted account cannot be restored.</List.Item>
          <List.Item>You will leave {workspaces.map((w) => `“${w.name}”`).join(", ")}.</List.Item>
          <List.Item>API keys that you created in these workspaces are revoked immediately.</List.Item>
          <List.Item>If a workspace has no other members, all its API keys are revoked.</List.Item>
          <List.Item>
            Workspaces with other members need another owner before you can delete your account.
          </List.Item>
        </List>
        <PasswordInput
          label="Your password"
          required
          autoComplete="current-password"
          data-autofocus
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={wrong}
          visibilityToggleButtonProps={{ "aria-label": "Show password" }}
        />
        {error && !wrong && <ErrorPanel what="Could not delete the account" error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red" disabled={!password} loading={remove.isPending}>
            Delete permanently
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
