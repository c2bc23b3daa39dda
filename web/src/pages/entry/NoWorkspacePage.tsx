import { Button, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { EntryFrame } from "./EntryFrame";

/** Shown to an account without a workspace: all other pages need one. */
export function NoWorkspacePage({ account }: { account: Schema["AccountView"] }) {
  const queryClient = useQueryClient();
  const [name, setName] = useState("");
  const reload = () => queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
  const create = useMutation({
    mutationFn: () => must(api.POST("/workspaces", { body: { name } })),
    onSuccess: reload,
  });
  const signOut = useMutation({ mutationFn: () => api.DELETE("/session"), onSettled: reload });
  return (
    <EntryFrame
      title="Create a workspace"
      lead={`${account.email} is not a member of any workspace. Create one, or ask for an invitation.`}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Name"
            required
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {create.error && <ErrorPanel what="Could not create the workspace" error={create.error} />}
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
          <Button variant="default" onClick={() => signOut.mutate()}>
            Sign out
          </Button>
        </Stack>
      </form>
    </EntryFrame>
  );
}
