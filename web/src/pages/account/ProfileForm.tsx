import { Button, Group, Select, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { api, must } from "../../api/client";
import { asApiError } from "../../api/errors";
import { differing } from "../../api/manage";
import { sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { notifyDone } from "../../lib/notify";
import { useSession } from "../../lib/session";
import { zoneNames } from "./labels";

/** Name and time zone of the account. */
export function ProfileForm() {
  const { account } = useSession();
  const [name, setName] = useState(account.name);
  const [zone, setZone] = useState(account.time_zone || "UTC");
  const zones = useMemo(() => zoneNames(account.time_zone), [account.time_zone]);
  const save = useSave();
  const problems = save.error ? asApiError(save.error).problems : {};
  const changed = name !== account.name || zone !== account.time_zone;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate({ name, time_zone: zone });
      }}
    >
      <Stack gap="sm" maw={420}>
        <TextInput
          label="Email"
          value={account.email}
          readOnly
          description="You sign in with this address. It cannot be changed."
        />
        <TextInput
          label="Name"
          required
          maxLength={100}
          autoComplete="name"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={problems["name"]}
        />
        <Select
          label="Time zone"
          description="Used for all times in the dashboard."
          searchable
          data={zones}
          limit={200}
          allowDeselect={false}
          value={zone}
          onChange={(value) => value && setZone(value)}
          error={problems["time_zone"]}
        />
        {save.error && Object.keys(problems).length === 0 && (
          <ErrorPanel what="Could not save the profile" error={save.error} />
        )}
        <Group>
          <Button type="submit" disabled={!changed || name.trim() === ""} loading={save.isPending}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function useSave() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async (change: { name: string; time_zone: string }) => {
      await must(api.PATCH("/account", { body: change }));
      const saved = await must(api.GET("/account"));
      const different = differing(change, saved);
      if (different.length > 0) {
        throw new Error(`Saved, but these settings now have different values: ${different.join(", ")}.`);
      }
    },
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
      notifyDone("Profile saved.");
    },
  });
}
