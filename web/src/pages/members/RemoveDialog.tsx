import { Checkbox, List, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { membersQuery } from "../../api/manage";
import { keysQuery, sessionQuery } from "../../api/queries";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { notifyDone } from "../../lib/notify";
import { plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { activeKeysOf } from "./memberKeys";

type Member = Schema["MemberView"];

interface Props {
  member: Member | undefined;
  onClose: () => void;
}

/** Removes a member, or lets the signed-in user leave the workspace. Lists the keys that are revoked. */
export function RemoveDialog({ member, onClose }: Props) {
  const { account, workspace, may } = useSession();
  const self = member?.account_id === account.id;
  const [keep, setKeep] = useState(false);
  const { data } = useQuery({ ...keysQuery, enabled: member !== undefined && may("read_keys") });
  const keys = member && data ? activeKeysOf(data.keys, member.account_id) : [];
  const close = () => {
    setKeep(false);
    onClose();
  };
  const remove = useRemove(self, keep, close);
  return (
    <ConfirmDialog
      opened={member !== undefined}
      title={self ? `Leave “${workspace.name}”` : `Remove ${member?.email}`}
      action={self ? "Leave" : "Remove"}
      typed={self ? workspace.name : undefined}
      pending={remove.isPending}
      error={
        remove.error && (
          <ErrorPanel
            what={self ? "Could not leave the workspace" : "Could not remove the member"}
            error={remove.error}
          />
        )
      }
      onConfirm={() => member && remove.mutate(member)}
      onClose={() => {
        remove.reset();
        close();
      }}
    >
      <Stack gap="sm">
        <Text size="sm">
          {self
            ? "You lose access to this workspace immediately. To return, you need a new invitation."
            : `${member?.email} loses access to “${workspace.name}” immediately. The account is not deleted.`}
        </Text>
        {keys.length > 0 && <KeyNotice keys={keys} keep={keep} />}
        {keys.length > 0 && may("manage_keys") && (
          <Checkbox
            label="Keep these API keys active"
            checked={keep}
            onChange={(event) => setKeep(event.currentTarget.checked)}
          />
        )}
      </Stack>
    </ConfirmDialog>
  );
}

function KeyNotice({ keys, keep }: { keys: Schema["KeyView"][]; keep: boolean }) {
  return (
    <div>
      <Text size="sm">
        {plural(keys.length, "API key")} {keep ? "will stay active:" : "will be revoked:"}
      </Text>
      <List size="sm">
        {keys.map((key) => (
          <List.Item key={key.id}>{key.name}</List.Item>
        ))}
      </List>
    </div>
  );
}

function useRemove(self: boolean, keep: boolean, onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (member: Member) =>
      self
        ? must(api.POST("/workspace/leave", { params: { query: { keep_keys: keep } } }))
        : must(
            api.DELETE("/workspace/members/{account_id}", {
              params: { path: { account_id: member.account_id }, query: { keep_keys: keep } },
            }),
          ),
    onSuccess: async ({ revoked_keys }, member) => {
      await queryClient.invalidateQueries({ queryKey: self ? sessionQuery.queryKey : membersQuery.queryKey });
      await queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
      if (self) {
        // All other cached data belongs to the workspace that was left.
        await queryClient.resetQueries({ predicate: (query) => query.queryKey[0] !== "session" });
      }
      const revoked = revoked_keys.length > 0 ? ` ${plural(revoked_keys.length, "API key")} revoked.` : "";
      notifyDone((self ? "You left the workspace." : `${member.email} was removed.`) + revoked);
      onDone();
    },
  });
}
