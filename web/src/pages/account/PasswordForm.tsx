import { Button, Group, PasswordInput, Stack } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must } from "../../api/client";
import { asApiError } from "../../api/errors";
import { sessionsQuery } from "../../api/manage";
import { registrationQuery, sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { notifyDone } from "../../lib/notify";
import { plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";

/** Changes the password, which ends all other sessions. */
export function PasswordForm() {
  const { account } = useSession();
  const { data: rules } = useQuery(registrationQuery);
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const change = useChange(() => {
    setOld("");
    setNext("");
  });
  const error = change.error ? asApiError(change.error) : undefined;
  const wrong = error?.code === "WRONG_CREDENTIALS" ? error.message : error?.problems["old_password"];
  const bad = error?.problems["new_password"];
  const least = rules?.min_password_length ?? 0;
  const short = next !== "" && next.length < least;
  const show = { "aria-label": "Show password" };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate({ old_password: old, new_password: next });
      }}
    >
      <Stack gap="sm" maw={420}>
        {/* Password managers look for the user name of the password. */}
        <input type="hidden" name="username" autoComplete="username" value={account.email} />
        <PasswordInput
          label="Current password"
          required
          autoComplete="current-password"
          value={old}
          onChange={(event) => setOld(event.currentTarget.value)}
          error={wrong}
          visibilityToggleButtonProps={show}
        />
        <PasswordInput
          label="New password"
          description={`${least > 0 ? `At least ${least} characters. ` : ""}Signs out your other sessions. API keys keep working.`}
          required
          autoComplete="new-password"
          value={next}
          onChange={(event) => setNext(event.currentTarget.value)}
          error={bad ?? (short ? `Add ${plural(least - next.length, "more character")}.` : undefined)}
          visibilityToggleButtonProps={show}
        />
        {error && !wrong && !bad && <ErrorPanel what="Could not change the password" error={error} />}
        <Group>
          <Button type="submit" disabled={!old || !next || short} loading={change.isPending}>
            Change password
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function useChange(onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: { old_password: string; new_password: string }) =>
      must(api.POST("/account/password", { body })),
    onSuccess: async (session) => {
      queryClient.setQueryData(sessionQuery.queryKey, session);
      await queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
      notifyDone("Password changed. Other sessions were signed out.");
      onDone();
    },
  });
}
