import { Button, Group, Modal, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { membersQuery } from "../../api/manage";
import { sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { notifyDone } from "../../lib/notify";
import { useSession } from "../../lib/session";
import { RoleField } from "./RoleField";
import type { Role } from "./roles";

interface Props {
  member: Schema["MemberView"] | undefined;
  onClose: () => void;
}

/** Changes the role of a member. */
export function RoleDialog({ member, onClose }: Props) {
  return (
    <Modal opened={member !== undefined} onClose={onClose} title={member && `Change role of ${member.email}`}>
      {member && <RoleForm member={member} onClose={onClose} />}
    </Modal>
  );
}

function RoleForm({ member, onClose }: { member: Schema["MemberView"]; onClose: () => void }) {
  const { workspace, account } = useSession();
  const queryClient = useQueryClient();
  const [role, setRole] = useState<Role>(member.role);
  const change = useMutation({
    mutationFn: async () => {
      await api.PATCH("/workspace/members/{account_id}", {
        params: { path: { account_id: member.account_id } },
        body: { role },
      });
      const saved = await must(api.GET("/workspace/members"));
      return { saved, now: saved.members.find((m) => m.account_id === member.account_id)?.role };
    },
    onSuccess: async ({ saved, now }) => {
      queryClient.setQueryData(membersQuery.queryKey, saved);
      if (member.account_id === account.id) {
        await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
      }
      notifyDone(`${member.email} is now ${now}.`);
      onClose();
    },
  });
  const problems = change.error ? asApiError(change.error).problems : {};
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate();
      }}
    >
      <Stack gap="md">
        <RoleField value={role} onChange={setRole} own={workspace.role} error={problems["role"]} />
        {change.error && !problems["role"] && (
          <ErrorPanel what="Could not change the role" error={change.error} />
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={change.isPending} disabled={role === member.role}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
