import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { registrationQuery, sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { EntryFrame } from "./EntryFrame";
import { PageLink } from "../../components/PageLink";
import { useGo } from "../../lib/search";

/** Shows an error. Wrong credentials are shown without a request ID, because the user knows what to do. */
function SignInError({ error }: { error: unknown }) {
  if (asApiError(error).code === "WRONG_CREDENTIALS") {
    return (
      <Text size="sm" c="red" role="alert">
        Wrong email or password.
      </Text>
    );
  }
  return <ErrorPanel what="Could not sign in" error={error} />;
}

/** Signs in and returns to the requested page. */
export function SignInPage({ server }: { server: Schema["ServerView"] }) {
  const queryClient = useQueryClient();
  const go = useGo();
  const { pathname } = useLocation();
  const registration = useQuery(registrationQuery);
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () => must(api.POST("/session", { body: { email, password } })),
    onSuccess: async (session) => {
      if (pathname === "/sign-in") {
        await go({ to: "/" }, true);
      }
      queryClient.setQueryData(sessionQuery.queryKey, session);
    },
  });
  const elsewhere = pathname !== "/" && pathname !== "/sign-in";
  return (
    <EntryFrame title="Sign in" lead={elsewhere ? "Sign in to continue to the requested page." : undefined}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          signIn.mutate();
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Email"
            type="email"
            autoComplete="username"
            required
            autoFocus
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            visibilityToggleButtonProps={{ "aria-label": "Show password" }}
          />
          {signIn.error && <SignInError error={signIn.error} />}
          <Button type="submit" loading={signIn.isPending}>
            Sign in
          </Button>
          {registration.data && !registration.data.invitation_needed && (
            <Text size="sm" ta="center">
              No account yet?{" "}
              <Anchor component={PageLink} to="/register">
                Register
              </Anchor>
            </Text>
          )}
          <Text size="xs" c="dimmed" ta="center">
            Forgot your password? The gateway operator can reset it: fairlead admin reset-password. Version{" "}
            {server.version}.
          </Text>
        </Stack>
      </form>
    </EntryFrame>
  );
}
