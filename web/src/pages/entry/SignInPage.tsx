import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { registrationQuery, sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { EntryFrame } from "./EntryFrame";
import { PageLink } from "../../components/PageLink";
import { useGo } from "../../lib/search";

/** Signs a person in and leads back to where they wanted to go. */
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
    <EntryFrame title="Sign in" lead={elsewhere ? "Sign in to go on to the page you asked for." : undefined}>
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
            visibilityToggleButtonProps={{ "aria-label": "Show the password" }}
          />
          {signIn.error && <ErrorPanel what="You are not signed in" error={signIn.error} />}
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
            Forgotten the password? Whoever runs the gateway can set a new one: fairlead admin reset-password.
            Version {server.version}.
          </Text>
        </Stack>
      </form>
    </EntryFrame>
  );
}
