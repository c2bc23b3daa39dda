import { Badge, Button, Code, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { secondFactorQuery } from "../../api/manage";
import { CopyButton } from "../../components/CopyButton";
import { ErrorPanel } from "../../components/ErrorPanel";
import { notifyDone } from "../../lib/notify";
import { plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { PasswordAction } from "./PasswordAction";
import { RecoveryCodes } from "./RecoveryCodes";

type Setup = Schema["SecondFactorSetup"];

/** Sets up and removes the authenticator app, and replaces recovery codes. */
export function SecondFactor() {
  const { account } = useSession();
  const { data, error } = useQuery(secondFactorQuery);
  const [setup, setSetup] = useState<Setup>();
  const [codes, setCodes] = useState<string[]>();
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: secondFactorQuery.queryKey });
  if (!account.has_password) {
    return (
      <Text size="sm" c="dimmed">
        You sign in through the identity provider, which manages your second factor.
      </Text>
    );
  }
  if (error) {
    return <ErrorPanel what="Could not load the second factor" error={error} />;
  }
  if (codes) {
    return <RecoveryCodes codes={codes} onDone={() => setCodes(undefined)} />;
  }
  if (setup) {
    return (
      <Confirm
        setup={setup}
        onCancel={() => setSetup(undefined)}
        onDone={async (made) => {
          setSetup(undefined);
          setCodes(made);
          await refresh();
        }}
      />
    );
  }
  return (
    <Stack gap="md" maw={420}>
      {data?.enabled && (
        <Enabled
          state={data}
          onCodes={setCodes}
          onDone={refresh}
          key={data.authenticator_app ? "app" : "passkey"}
        />
      )}
      {data && !data.authenticator_app && (
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            Require a code from an authenticator app when you sign in with your password.
          </Text>
          <PasswordAction
            button="Set up"
            what="Could not start the setup"
            run={async (password) =>
              setSetup(await must(api.POST("/account/second-factor", { body: { password } })))
            }
          />
        </Stack>
      )}
    </Stack>
  );
}

/** The state of an enabled second factor, with the actions that change it. */
function Enabled({
  state,
  onCodes,
  onDone,
}: {
  state: Schema["SecondFactorView"];
  onCodes: (codes: string[]) => void;
  onDone: () => Promise<void>;
}) {
  const [action, setAction] = useState<"codes" | "disable">();
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Badge color="green" radius="sm">
          Enabled
        </Badge>
        <Text size="sm" c="dimmed">
          {state.authenticator_app ? "" : "Your passkeys are the second factor. "}
          {plural(state.recovery_codes, "recovery code")} left.
        </Text>
      </Group>
      {!action && (
        <Group gap="xs">
          <Button variant="default" onClick={() => setAction("codes")}>
            New recovery codes
          </Button>
          {state.authenticator_app && (
            <Button variant="default" onClick={() => setAction("disable")}>
              Remove authenticator app
            </Button>
          )}
        </Group>
      )}
      {action === "codes" && (
        <PasswordAction
          button="Replace recovery codes"
          what="Could not replace the recovery codes"
          onCancel={() => setAction(undefined)}
          run={async (password) => {
            const made = await must(
              api.POST("/account/second-factor/recovery-codes", { body: { password } }),
            );
            await onDone();
            setAction(undefined);
            onCodes(made.codes ?? []);
          }}
        />
      )}
      {action === "disable" && (
        <PasswordAction
          button="Remove authenticator app"
          color="red"
          what="Could not remove the authenticator app"
          onCancel={() => setAction(undefined)}
          run={async (password) => {
            await api.POST("/account/second-factor/disable", { body: { password } });
            await onDone();
            notifyDone("Authenticator app removed.");
          }}
        />
      )}
    </Stack>
  );
}

/** Shows the secret and activates it with a first code. */
function Confirm({
  setup,
  onCancel,
  onDone,
}: {
  setup: Setup;
  onCancel: () => void;
  onDone: (codes: string[]) => Promise<void>;
}) {
  const [code, setCode] = useState("");
  const confirm = useMutation({
    mutationFn: () => must(api.POST("/account/second-factor/confirm", { body: { code } })),
    onSuccess: ({ codes }) => onDone(codes ?? []),
  });
  const error = confirm.error ? asApiError(confirm.error) : undefined;
  const wrong = error?.problems["code"];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        confirm.mutate();
      }}
    >
      <Stack gap="sm" maw={420}>
        <Text size="sm">Scan this code with an authenticator app, or enter the secret.</Text>
        <img
          src={`data:image/svg+xml,${encodeURIComponent(setup.qr_svg)}`}
          alt="QR code for the secret"
          width={200}
          height={200}
        />
        <Group gap="xs">
          <Code>{setup.secret.replace(/(.{4})(?=.)/g, "$1 ")}</Code>
          <CopyButton text={setup.secret} label="Copy secret" compact />
        </Group>
        <TextInput
          label="Code"
          description="The 6-digit code shown in the app."
          required
          autoComplete="one-time-code"
          inputMode="numeric"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          error={wrong}
        />
        {error && !wrong && <ErrorPanel what="Could not enable two-factor authentication" error={error} />}
        <Group gap="xs">
          <Button type="submit" disabled={!code} loading={confirm.isPending}>
            Enable
          </Button>
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
