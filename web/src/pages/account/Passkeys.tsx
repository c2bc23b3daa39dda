import { Badge, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { passkeysQuery, secondFactorQuery } from "../../api/manage";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { RowsSkeleton } from "../../components/Loading";
import { Time } from "../../components/Time";
import { notifyDone } from "../../lib/notify";
import { createPasskey } from "../../lib/passkeys";
import { passkeyProblem } from "../../lib/passkeySite";
import { useSession } from "../../lib/session";
import { clientName } from "./labels";
import { PasswordAction } from "./PasswordAction";
import { RecoveryCodes } from "./RecoveryCodes";

type Passkey = Schema["PasskeyView"];

/** The action of the open dialog. */
type Dialog =
  { kind: "add" } | { kind: "codes"; codes: string[] } | { kind: "rename" | "remove"; passkey: Passkey };

/** The passkeys of the account, with buttons to add, rename and remove them. */
export function Passkeys() {
  const { account, server } = useSession();
  const { data, error, refetch } = useQuery(passkeysQuery);
  const [dialog, setDialog] = useState<Dialog>();
  if (!account.has_password) {
    return (
      <Text size="sm" c="dimmed">
        You sign in through the identity provider, which manages your passkeys.
      </Text>
    );
  }
  const problem = passkeyProblem(server.passkeys);
  return (
    <Stack gap="sm" maw={420}>
      <Text size="sm" c="dimmed">
        Sign in with the screen lock of your device or a security key instead of your password. With a
        passkey, signing in with your password also requires a second step.
      </Text>
      {error && <ErrorPanel what="Could not load passkeys" error={error} onRetry={() => void refetch()} />}
      {!data && !error && <RowsSkeleton rows={2} />}
      {data && data.passkeys.length > 0 && (
        <Stack gap="xs" component="ul" p={0} m={0} style={{ listStyle: "none" }} aria-label="Passkeys">
          {data.passkeys.map((p) => (
            <PasskeyRow key={p.id} passkey={p} onOpen={setDialog} />
          ))}
        </Stack>
      )}
      {problem ? (
        <Text size="sm">{problem}</Text>
      ) : (
        <Group>
          <Button
            variant="default"
            leftSection={<Icon name="plus" size={14} />}
            onClick={() => setDialog({ kind: "add" })}
          >
            Add passkey
          </Button>
        </Group>
      )}
      <Modal
        opened={dialog !== undefined}
        onClose={() => setDialog(undefined)}
        title={dialog && titleOf(dialog)}
      >
        {dialog && <DialogBody dialog={dialog} onOpen={setDialog} onClose={() => setDialog(undefined)} />}
      </Modal>
    </Stack>
  );
}

function titleOf(dialog: Dialog): string {
  switch (dialog.kind) {
    case "add":
      return "Add passkey";
    case "codes":
      return "Passkey added";
    case "rename":
      return `Rename “${dialog.passkey.name}”`;
    case "remove":
      return `Remove “${dialog.passkey.name}”`;
  }
}

function PasskeyRow({ passkey, onOpen }: { passkey: Passkey; onOpen: (dialog: Dialog) => void }) {
  return (
    <Group component="li" justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
      <div style={{ minWidth: 0 }}>
        <Group gap="xs">
          <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
            {passkey.name}
          </Text>
          {passkey.backed_up && (
            <Badge radius="sm" variant="default">
              Synced
            </Badge>
          )}
        </Group>
        <Text size="sm" c="dimmed">
          Added <Time at={passkey.created_at} as="day" />
          {" · "}
          {passkey.last_used_at ? (
            <>
              used <Time at={passkey.last_used_at} as="age" />
            </>
          ) : (
            "not used yet"
          )}
        </Text>
        {!passkey.usable && (
          <Text size="sm">Works only at {passkey.host}, which is not the gateway’s address.</Text>
        )}
      </div>
      <Group gap={6} wrap="nowrap">
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Rename ${passkey.name}`}
          onClick={() => onOpen({ kind: "rename", passkey })}
        >
          Rename
        </Button>
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Remove ${passkey.name}`}
          onClick={() => onOpen({ kind: "remove", passkey })}
        >
          Remove
        </Button>
      </Group>
    </Group>
  );
}

interface DialogProps {
  dialog: Dialog;
  onOpen: (dialog: Dialog) => void;
  onClose: () => void;
}

function DialogBody({ dialog, onOpen, onClose }: DialogProps) {
  const refresh = useRefresh();
  switch (dialog.kind) {
    case "add":
      return <Add onOpen={onOpen} onClose={onClose} />;
    case "codes":
      return <RecoveryCodes codes={dialog.codes} onDone={onClose} />;
    case "rename":
      return <Rename passkey={dialog.passkey} onClose={onClose} />;
    case "remove":
      return (
        <PasswordAction
          button="Remove"
          color="red"
          what="Could not remove the passkey"
          onCancel={onClose}
          run={async (password) => {
            const params = { path: { id: dialog.passkey.id } };
            await api.POST("/account/passkeys/{id}/remove", { params, body: { password } });
            await refresh();
            notifyDone("Passkey removed.");
            onClose();
          }}
        >
          <Text size="sm">
            You can no longer sign in with this passkey. Delete it on your device as well. Without another
            passkey or an authenticator app, your password alone is enough to sign in again.
          </Text>
        </PasswordAction>
      );
  }
}

function Add({ onOpen, onClose }: Omit<DialogProps, "dialog">) {
  const refresh = useRefresh();
  const [name, setName] = useState(() => clientName(navigator.userAgent));
  return (
    <PasswordAction
      button="Continue"
      what="Could not add the passkey"
      ready={name.trim() !== ""}
      onCancel={onClose}
      run={async (password) => {
        const { codes } = await createPasskey(password, name.trim());
        await refresh();
        if (codes && codes.length > 0) {
          onOpen({ kind: "codes", codes });
        } else {
          notifyDone("Passkey added.");
          onClose();
        }
      }}
    >
      <TextInput
        label="Name"
        description="Helps you tell your passkeys apart. Use the name of the device, for example."
        required
        maxLength={100}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </PasswordAction>
  );
}

function Rename({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) {
  const refresh = useRefresh();
  const [name, setName] = useState(passkey.name);
  const rename = useMutation({
    mutationFn: () =>
      api.PATCH("/account/passkeys/{id}", {
        params: { path: { id: passkey.id } },
        body: { name: name.trim() },
      }),
    onSuccess: async () => {
      await refresh();
      onClose();
    },
  });
  const problem = rename.error ? asApiError(rename.error).problems["name"] : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        rename.mutate();
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Name"
          required
          maxLength={100}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={problem}
        />
        {rename.error && !problem && <ErrorPanel what="Could not rename the passkey" error={rename.error} />}
        <Group gap="xs">
          <Button
            type="submit"
            disabled={name.trim() === "" || name === passkey.name}
            loading={rename.isPending}
          >
            Save
          </Button>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function useRefresh() {
  const queryClient = useQueryClient();
  return async () => {
    await Promise.all([
      queryClient.invalidateQueries({ queryKey: passkeysQuery.queryKey }),
      queryClient.invalidateQueries({ queryKey: secondFactorQuery.queryKey }),
    ]);
  };
}
