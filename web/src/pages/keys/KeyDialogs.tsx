import { Button, Group, Modal, Radio, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { keysQuery, modelsQuery } from "../../api/queries";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { notifyDone } from "../../lib/notify";
import { createBody, draftOf, emptyDraft, type KeyDraft, updateBody } from "./keyDraft";
import { KeyForm } from "./KeyForm";
import { usedLately } from "./keyState";

type KeyView = Schema["KeyView"];

/** Loads the keys again after a change, so that the list shows what the server now holds. */
function useKeysAgain() {
  const queryClient = useQueryClient();
  return () => queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
}

interface FormDialogProps {
  opened: boolean;
  title: string;
  initial: KeyDraft;
  action: string;
  pending: boolean;
  error: Error | null;
  onSubmit: (draft: KeyDraft) => void;
  onClose: () => void;
}

function FormDialog(props: FormDialogProps) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={props.title} size="lg">
      {props.opened && <FormContent {...props} />}
    </Modal>
  );
}

function FormContent({ initial, action, pending, error, onSubmit, onClose }: FormDialogProps) {
  const [draft, setDraft] = useState(initial);
  const models = useQuery(modelsQuery);
  const problems = error ? asApiError(error).problems : {};
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(draft);
      }}
    >
      <Stack gap="md">
        <KeyForm
          draft={draft}
          onChange={(change) => setDraft({ ...draft, ...change })}
          models={models.data?.models.map((model) => model.name) ?? []}
          problems={problems}
        />
        {error && <ErrorPanel what="The key was not saved" error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={pending} disabled={draft.name.trim() === ""}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Creates a key and hands it on to be shown. */
export function CreateKeyDialog(props: {
  opened: boolean;
  onClose: () => void;
  onCreated: (key: Schema["NewKey"]) => void;
}) {
  const again = useKeysAgain();
  const create = useMutation({
    mutationFn: (draft: KeyDraft) => must(api.POST("/keys", { body: createBody(draft) })),
    onSuccess: (key) => {
      void again();
      props.onCreated(key);
    },
  });
  return (
    <FormDialog
      opened={props.opened}
      title="Create API key"
      initial={emptyDraft}
      action="Create key"
      pending={create.isPending}
      error={create.error}
      onSubmit={(draft) => create.mutate(draft)}
      onClose={() => {
        create.reset();
        props.onClose();
      }}
    />
  );
}

/** Changes a key. */
export function EditKeyDialog({ target, onClose }: { target: KeyView | undefined; onClose: () => void }) {
  const again = useKeysAgain();
  const update = useMutation({
    mutationFn: (draft: KeyDraft) =>
      must(api.PATCH("/keys/{id}", { params: { path: { id: target?.id ?? "" } }, body: updateBody(draft) })),
    onSuccess: async (key) => {
      await again();
      notifyDone(`Saved “${key.name}”.`);
      onClose();
    },
  });
  return (
    <FormDialog
      opened={target !== undefined}
      title={`Edit “${target?.name ?? ""}”`}
      initial={target ? draftOf(target) : emptyDraft}
      action="Save"
      pending={update.isPending}
      error={update.error}
      onSubmit={(draft) => update.mutate(draft)}
      onClose={() => {
        update.reset();
        onClose();
      }}
    />
  );
}

const hour = 3_600_000;
const graces: { value: string; label: string; body: Schema["RotateKeyInputBody"] }[] = [
  { value: "now", label: "at once", body: {} },
  { value: "1h", label: "after 1 hour", body: { grace_ms: hour } },
  { value: "24h", label: "after 24 hours", body: { grace_ms: 24 * hour } },
  { value: "7d", label: "after 7 days", body: { grace_ms: 7 * 24 * hour } },
  { value: "use-1h", label: "1 hour after the new one is first used", body: { grace_after_use_ms: hour } },
  {
    value: "use-24h",
    label: "24 hours after the new one is first used",
    body: { grace_after_use_ms: 24 * hour },
  },
];

interface RotateProps {
  target: KeyView | undefined;
  onClose: () => void;
  onRotated: (key: Schema["NewKey"]) => void;
}

/** Gives a key a new secret; the old one may go on for a while. */
export function RotateKeyDialog({ target, onClose, onRotated }: RotateProps) {
  const again = useKeysAgain();
  const [grace, setGrace] = useState("24h");
  const rotate = useMutation({
    mutationFn: () =>
      must(
        api.POST("/keys/{id}/rotate", {
          params: { path: { id: target?.id ?? "" } },
          body: graces.find((g) => g.value === grace)?.body ?? {},
        }),
      ),
    onSuccess: (key) => {
      void again();
      onRotated(key);
    },
  });
  return (
    <Modal opened={target !== undefined} onClose={onClose} title={`Rotate “${target?.name ?? ""}”`}>
      <Stack gap="sm">
        <Text size="sm">The key gets a new secret now. Name, limits and spending stay.</Text>
        <Radio.Group label="The old secret ends" value={grace} onChange={setGrace}>
          <Stack gap={6} mt={4}>
            {graces.map((g) => (
              <Radio key={g.value} value={g.value} label={g.label} />
            ))}
          </Stack>
        </Radio.Group>
        {rotate.error && <ErrorPanel what="The key was not rotated" error={rotate.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
            Rotate
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Ends a key for good. One that was used lately asks for its name. */
export function RevokeKeyDialog({ target, onClose }: { target: KeyView | undefined; onClose: () => void }) {
  const again = useKeysAgain();
  const revoke = useMutation({
    mutationFn: () => must(api.DELETE("/keys/{id}", { params: { path: { id: target?.id ?? "" } } })),
    onSuccess: async (key) => {
      await again();
      notifyDone(`Revoked “${key.name}”.`);
      onClose();
    },
  });
  const busy = target !== undefined && usedLately(target);
  return (
    <ConfirmDialog
      opened={target !== undefined}
      title={`Revoke “${target?.name ?? ""}”`}
      action="Revoke"
      typed={busy ? target.name : undefined}
      pending={revoke.isPending}
      error={revoke.error && <ErrorPanel what="The key was not revoked" error={revoke.error} />}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      Every request with this key is refused from now on: at once on this process, within seconds on others.
      This cannot be undone; the key stays listed with its requests.
      {busy && " It was used in the last 24 hours, so something may depend on it."}
    </ConfirmDialog>
  );
}
