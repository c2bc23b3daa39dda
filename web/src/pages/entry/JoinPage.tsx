import { Button, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api, must, type Schema } from "../../api/client";
import { sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { storeText } from "../../lib/stored";
import { EntryFrame } from "./EntryFrame";
import { useGo } from "../../lib/search";

/** Asks a signed-in user whether to accept an invitation. */
export function JoinPage({ token, account }: { token: string; account: Schema["AccountView"] }) {
  const queryClient = useQueryClient();
  const go = useGo();
  const join = useMutation({
    mutationFn: () => must(api.POST("/invitations/accept", { body: { token } })),
    onSuccess: async (joined) => {
      storeText("workspace", joined.workspace_id);
      await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
      await go({ to: "/" }, true);
    },
  });
  return (
    <EntryFrame
      title="Join a workspace"
      lead={`You have been invited to another workspace. You are signed in as ${account.email}.`}
    >
      <Stack gap="sm">
        {join.error && <ErrorPanel what="Could not join the workspace" error={join.error} />}
        <Button loading={join.isPending} onClick={() => join.mutate()}>
          Join
        </Button>
        <Button variant="default" onClick={() => void go({ to: "/" }, true)}>
          Not now
        </Button>
      </Stack>
    </EntryFrame>
  );
}
