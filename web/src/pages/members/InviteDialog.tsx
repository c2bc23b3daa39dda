import { Alert, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { invitationsQuery } from "../../api/manage";
import { CopyButton } from "../../components/CopyButton";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { Time } from "../../components/Time";
import { useSession } from "../../lib/session";
import { RoleField } from "./RoleField";
import { invitationLink, type Role } from "./roles";

/** Creates an invitation and shows its link once. */
export function InviteDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [created, setCreated] = useState<Schema["NewInvitation"]>();
  const close = () => {
    setCreated(undefined);
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={created ? "Invitation link" : "Invite a member"}
      // The link cannot be shown again, so only the button closes the dialog.
      closeOnEscape={!created}
      closeOnClickOutside={!created}
      withCloseButton={!created}
      size="lg"
    >
      {opened &&
        (created ? (
          <Link created={created} onDone={close} />
        ) : (
          <InviteForm onCreated={setCreated} onClose={close} />
        ))}
    </Modal>
  );
}

function InviteForm({
  onCreated,
  onClose,
}: {
  onCreated: (created: Schema["NewInvitation"]) => void;
  onClose: () => void;
}) {
  const { workspace } = useSession();
  const queryClient = useQueryClient();
  const [role, setRole] = useState<Role>(workspace.role === "viewer" ? "viewer" : "developer");
  const invite = useMutation({
    mutationFn: () => must(api.POST("/workspace/invitations", { body: { role } })),
    onSuccess: async (created) => {
      onCreated(created);
      await queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey });
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        invite.mutate();
      }}
    >
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          Creates a link that can be used once to join “{workspace.name}”, with an existing or a new account.
        </Text>
        <RoleField value={role} onChange={setRole} own={workspace.role} />
        {invite.error && <ErrorPanel what="Could not create the invitation" error={invite.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={invite.isPending}>
            Create link
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Link({ created, onDone }: { created: Schema["NewInvitation"]; onDone: () => void }) {
  const { server } = useSession();
  const link = invitationLink(server.public_url, created.token);
  return (
    <Stack gap="md">
      <Alert color="yellow" variant="outline" icon={<Icon name="alert" size={16} />}>
        Copy the link now. It won’t be shown again. Anyone with the link can use it.
      </Alert>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <TextInput
          label="Link"
          readOnly
          value={link}
          onFocus={(event) => event.currentTarget.select()}
          style={{ flex: 1 }}
          data-autofocus
        />
        <CopyButton text={link} label="Copy link" size="sm" variant="filled" />
      </Group>
      <Text size="sm" c="dimmed">
        Role: {created.role}. Expires <Time at={created.expires_at} as="moment" />.
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onDone}>
          I have copied the link
        </Button>
      </Group>
    </Stack>
  );
}
