import { Alert, Anchor, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { registrationQuery, sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { EntryFrame } from "./EntryFrame";
import { PageLink } from "../../components/PageLink";
import { plural } from "../../lib/numbers";
import { useGo } from "../../lib/search";

/**
 * Registers an account. On a gateway without accounts every path shows this page. The setup code comes from the printed
 * link (/welcome#CODE), an invitation from its own link (/register#invitation=TOKEN).
 */
export function RegisterPage({ server }: { server: Schema["ServerView"] }) {
  const { hash } = useLocation();
  const invitation = hash.startsWith("invitation=") ? hash.slice("invitation=".length) : undefined;
  const { data, error, refetch } = useQuery(registrationQuery);
  const first = server.setup_needed;
  if (error) {
    return (
      <EntryFrame title="Register">
        <ErrorPanel
          what="Could not load the registration form"
          error={error}
          onRetry={() => void refetch()}
        />
      </EntryFrame>
    );
  }
  if (!data) {
    return <PanelSkeleton height={400} />;
  }
  if (data.invitation_needed && !invitation) {
    return (
      <EntryFrame title="Register">
        <Alert color="yellow" variant="outline" title="Invitation required">
          Ask a workspace admin for an invitation link.
        </Alert>
        <Text size="sm" ta="center" mt="md">
          <Anchor component={PageLink} to="/sign-in">
            Sign in
          </Anchor>
        </Text>
      </EntryFrame>
    );
  }
  return (
    <EntryFrame
      title={first ? "Create the owner account" : "Register"}
      lead={
        first
          ? "Use your account to manage keys, providers and members."
          : invitation && "You have been invited to a workspace. Register to join it."
      }
    >
      <RegisterForm state={data} invitation={invitation} code={!invitation && first ? hash : ""} />
      {!first && (
        <Text size="sm" ta="center" mt="md">
          Already registered?{" "}
          <Anchor component={PageLink} to="/sign-in">
            Sign in
          </Anchor>
        </Text>
      )}
    </EntryFrame>
  );
}

/** Sets the time zone of a new account to the browser's. */
async function withZone(session: Schema["SessionView"]): Promise<Schema["SessionView"]> {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!session.account || !zone || zone === session.account.time_zone) {
    return session;
  }
  const { data } = await api.PATCH("/account", { body: { time_zone: zone } });
  return data ? { ...session, account: data } : session;
}

/** Title of an error. A wrong password right after open registration means that the address already has an account. */
function failure(state: Schema["RegistrationState"], error: unknown): string {
  return !state.setup_code_needed && asApiError(error).code === "WRONG_CREDENTIALS"
    ? "Could not sign in. If you registered this address before, sign in with its password"
    : "Could not create the account";
}

interface FormProps {
  state: Schema["RegistrationState"];
  invitation?: string;
  code: string;
}

function RegisterForm({ state, invitation, code: printed }: FormProps) {
  const queryClient = useQueryClient();
  const go = useGo();
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState(printed);
  const register = useMutation({
    mutationFn: async () => {
      const session = await must(
        api.POST("/registration", {
          body: {
            name,
            email,
            password,
            invitation,
            setup_code: state.setup_code_needed ? code.trim() : undefined,
          },
        }),
      );
      // Open registration does not sign in, so that its response does not reveal which addresses have accounts.
      return session.account ? session : must(api.POST("/session", { body: { email, password } }));
    },
    onSuccess: async (session) => {
      queryClient.setQueryData(sessionQuery.queryKey, await withZone(session));
      await go({ to: "/quickstart" }, true);
    },
  });
  const problems = register.error ? asApiError(register.error).problems : {};
  const tooShort = password.length > 0 && password.length < state.min_password_length;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        register.mutate();
      }}
    >
      <Stack gap="sm">
        {state.setup_code_needed && (
          <TextInput
            label="Setup code"
            description="Printed by the gateway at startup, with a link to this page."
            placeholder="8F3K-29QX-7HMN-4PWD"
            required
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            error={problems["setup_code"]}
          />
        )}
        <TextInput
          label="Name"
          autoComplete="name"
          autoFocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={problems["name"]}
        />
        <TextInput
          label="Email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={problems["email"]}
        />
        <PasswordInput
          label="Password"
          autoComplete="new-password"
          description={`At least ${state.min_password_length} characters.`}
          required
          minLength={state.min_password_length}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={
            problems["password"] ??
            (tooShort
              ? `Add ${plural(state.min_password_length - password.length, "more character")}.`
              : undefined)
          }
          visibilityToggleButtonProps={{ "aria-label": "Show password" }}
        />
        {register.error && Object.keys(problems).length === 0 && (
          <ErrorPanel what={failure(state, register.error)} error={register.error} />
        )}
        <Button type="submit" loading={register.isPending} disabled={tooShort}>
          Create account
        </Button>
      </Stack>
    </form>
  );
}
