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

/** Makes an invitation and shows its link, once. */
export function InviteDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [made, setMade] = useState<Schema["NewInvitation"]>();
  const close = () => {
    setMade(undefined);
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={made ? "Send this link" : "Invite a person"}
      // The link cannot be shown again: only the button closes.
      closeOnEscape={!made}
      closeOnClickOutside={!made}
      withCloseButton={!made}
      size="lg"
    >
      {opened &&
        (made ? <Link made={made} onDone={close} /> : <InviteForm onMade={setMade} onClose={close} />)}
    </Modal>
  );
}

function InviteForm({
  onMade,
  onClose,
}: {
  onMade: (made: Schema["NewInvitation"]) => void;
  onClose: () => void;
}) {
  const { workspace } = useSession();
  const queryClient = useQueryClient();
  const [role, setRole] = useState<Role>(workspace.role === "viewer" ? "viewer" : "developer");
  const invite = useMutation({
    mutationFn: () => must(api.POST("/workspace/invitations", { body: { role } })),
    onSuccess: async (made) => {
      onMade(made);
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
          Whoever opens the link joins “{workspace.name}”: with the account they have, or by registering. It
          works once.
        </Text>
        <RoleField value={role} onChange={setRole} own={workspace.role} />
        {invite.error && <ErrorPanel what="The invitation was not made" error={invite.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={invite.isPending}>
            Make a link
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Link({ made, onDone }: { made: Schema["NewInvitation"]; onDone: () => void }) {
  const { server } = useSession();
  const link = invitationLink(server.public_url, made.token);
  return (
    <Stack gap="md">
      <Alert color="yellow" variant="outline" icon={<Icon name="alert" size={16} />}>
        It is shown this once. Whoever has the link can use it, so send it where only the person reads.
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
        Role {made.role}. Valid until <Time at={made.expires_at} as="moment" />.
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onDone}>
          I have the link
        </Button>
      </Group>
    </Stack>
  );
}
