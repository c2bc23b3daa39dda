import { Alert, Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { registrationQuery, sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PageLink } from "../../components/PageLink";
import { askForPasskey, CancelledError } from "../../lib/passkeys";
import { passkeyProblem } from "../../lib/passkeySite";
import { useGo } from "../../lib/search";
import { EntryFrame } from "./EntryFrame";
import { ssoReason } from "./ssoReasons";

/** Shows an error. Wrong credentials are shown without a request ID, because the user knows what to do. */
function SignInError({ error, hasCode }: { error: unknown; hasCode: boolean }) {
  const fault = asApiError(error);
  const wrongPasskey = fault.code === "WRONG_CREDENTIALS" && fault.details["param"] === "passkey";
  if (error instanceof CancelledError || fault.code === "WRONG_CREDENTIALS") {
    const wrong = hasCode ? "Wrong code, or the code was already used." : "Wrong email or password.";
    return (
      <Text size="sm" c="red" role="alert">
        {error instanceof CancelledError || wrongPasskey ? fault.message : wrong}
      </Text>
    );
  }
  return <ErrorPanel what="Could not sign in" error={error} />;
}

/** Signs in and returns to the requested page. */
export function SignInPage({ server }: { server: Schema["ServerView"] }) {
  const { pathname, searchStr } = useLocation();
  const [withPassword, setWithPassword] = useState(!server.sso?.only);
  const elsewhere = pathname !== "/" && pathname !== "/sign-in";
  const refused = pathname === "/sign-in" ? new URLSearchParams(searchStr).get("sso") : null;
  const target = elsewhere ? pathname + searchStr : "/";
  return (
    <EntryFrame title="Sign in" lead={elsewhere ? "Sign in to continue to the requested page." : undefined}>
      <Stack gap="sm">
        {refused && (
          <Alert color="red" role="alert" title="Could not sign in">
            {ssoReason(refused)}
          </Alert>
        )}
        {server.sso && (
          <Button component="a" href={`/api/v1/sso/sign-in?return=${encodeURIComponent(target)}`}>
            Sign in with {server.sso.name}
          </Button>
        )}
        {server.sso && withPassword && <Divider label="or" labelPosition="center" />}
        {withPassword && <PasswordSignIn primary={!server.sso} passkeys={!passkeyProblem(server.passkeys)} />}
        {!withPassword && (
          <Text size="sm" ta="center">
            <Anchor component="button" type="button" onClick={() => setWithPassword(true)}>
              Emergency access with a password
            </Anchor>
          </Text>
        )}
        <Text size="xs" c="dimmed" ta="center">
          {withPassword &&
            "Forgot your password? The gateway operator can reset it: fairlead admin reset-password. "}
          Version {server.version}.
        </Text>
      </Stack>
    </EntryFrame>
  );
}

/** The form for the email address, the password and, if the account has one, the second factor; and the passkey button. */
function PasswordSignIn({ primary, passkeys }: { primary: boolean; passkeys: boolean }) {
  const registration = useQuery(registrationQuery);
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [methods, setMethods] = useState<string[]>();
  const signIn = useSignIn(setMethods);
  const error = asApiError(signIn.error).code === "SECOND_FACTOR_REQUIRED" ? undefined : signIn.error;
  const withPasskey = passkeys && (!methods || methods.includes("passkey"));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        signIn.mutate(methods ? { email, password, code } : { email, password });
      }}
    >
      <Stack gap="sm">
        {methods ? (
          <TextInput
            label="Code"
            description={codeHint(methods)}
            autoComplete="one-time-code"
            required
            autoFocus
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
        ) : (
          <>
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
          </>
        )}
        {error && <SignInError error={error} hasCode={methods !== undefined} />}
        <Button
          type="submit"
          variant={primary ? "filled" : "default"}
          loading={signIn.isPending && signIn.variables.passkey !== true}
        >
          Sign in
        </Button>
        {withPasskey && (
          <Button
            variant="default"
            leftSection={<Icon name="key" size={14} />}
            loading={signIn.isPending && signIn.variables.passkey === true}
            onClick={() => signIn.mutate(methods ? { email, password, passkey: true } : { passkey: true })}
          >
            {methods ? "Use a passkey" : "Sign in with a passkey"}
          </Button>
        )}
        {methods && (
          <Text size="sm" ta="center">
            <Anchor
              component="button"
              type="button"
              onClick={() => {
                setMethods(undefined);
                setCode("");
                signIn.reset();
              }}
            >
              Use another account
            </Anchor>
          </Text>
        )}
        {registration.data && !registration.data.invitation_needed && !methods && (
          <Text size="sm" ta="center">
            No account yet?{" "}
            <Anchor component={PageLink} to="/register">
              Register
            </Anchor>
          </Text>
        )}
      </Stack>
    </form>
  );
}

function codeHint(methods: string[]): string {
  return methods.includes("authenticator_app")
    ? "Enter the code from your authenticator app, or a recovery code."
    : "Use your passkey, or enter a recovery code.";
}

/** The input of the user. Without an email address, a passkey alone is enough to sign in. */
interface Entry {
  email?: string;
  password?: string;
  code?: string;
  passkey?: boolean;
}

async function signInWith({ email, password, code, passkey }: Entry) {
  if (email === undefined || password === undefined) {
    return must(api.POST("/session/passkey/verify", { body: { response: await askForPasskey() } }));
  }
  const factor = passkey ? { passkey: await askForPasskey() } : { code };
  return must(api.POST("/session", { body: { email, password, ...factor } }));
}

function useSignIn(onFactorNeeded: (methods: string[]) => void) {
  const queryClient = useQueryClient();
  const go = useGo();
  const { pathname } = useLocation();
  return useMutation({
    mutationFn: signInWith,
    onSuccess: async (session) => {
      if (pathname === "/sign-in") {
        await go({ to: "/" }, true);
      }
      queryClient.setQueryData(sessionQuery.queryKey, session);
    },
    onError: (error) => {
      const fault = asApiError(error);
      if (fault.code === "SECOND_FACTOR_REQUIRED") {
        const { methods } = fault.details;
        onFactorNeeded(Array.isArray(methods) ? (methods as string[]) : []);
      }
    },
  });
}
