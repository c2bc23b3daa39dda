import { Button, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { EntryFrame } from "./EntryFrame";

/** For a person who belongs to no workspace: everything else needs one. */
export function NoWorkspacePage({ account }: { account: Schema["AccountView"] }) {
  const queryClient = useQueryClient();
  const [name, setName] = useState("");
  const again = () => queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
  const create = useMutation({
    mutationFn: () => must(api.POST("/workspaces", { body: { name } })),
    onSuccess: again,
  });
  const signOut = useMutation({ mutationFn: () => api.DELETE("/session"), onSettled: again });
  return (
    <EntryFrame
      title="Create a workspace"
      lead={`${account.email} belongs to no workspace. Create one, or ask for an invitation.`}
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
          {create.error && <ErrorPanel what="The workspace was not created" error={create.error} />}
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
