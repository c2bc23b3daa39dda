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
import { usedRecently } from "./keyState";

type KeyView = Schema["KeyView"];

/** Returns a function that reloads the keys after a change. */
function useReloadKeys() {
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
        {error && <ErrorPanel what="Could not save the key" error={error} />}
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

/** Creates a key. */
export function CreateKeyDialog(props: {
  opened: boolean;
  onClose: () => void;
  onCreated: (key: Schema["NewKey"]) => void;
}) {
  const reload = useReloadKeys();
  const create = useMutation({
    mutationFn: (draft: KeyDraft) => must(api.POST("/keys", { body: createBody(draft) })),
    onSuccess: (key) => {
      void reload();
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
  const reload = useReloadKeys();
  const update = useMutation({
    mutationFn: (draft: KeyDraft) =>
      must(api.PATCH("/keys/{id}", { params: { path: { id: target?.id ?? "" } }, body: updateBody(draft) })),
    onSuccess: async (key) => {
      await reload();
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
  { value: "now", label: "Immediately", body: {} },
  { value: "1h", label: "After 1 hour", body: { grace_ms: hour } },
  { value: "24h", label: "After 24 hours", body: { grace_ms: 24 * hour } },
  { value: "7d", label: "After 7 days", body: { grace_ms: 7 * 24 * hour } },
  { value: "use-1h", label: "1 hour after the new secret is first used", body: { grace_after_use_ms: hour } },
  {
    value: "use-24h",
    label: "24 hours after the new secret is first used",
    body: { grace_after_use_ms: 24 * hour },
  },
];

interface RotateProps {
  target: KeyView | undefined;
  onClose: () => void;
  onRotated: (key: Schema["NewKey"]) => void;
}

/** Rotates the secret of a key, with an optional grace period for the old one. */
export function RotateKeyDialog({ target, onClose, onRotated }: RotateProps) {
  const reload = useReloadKeys();
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
      void reload();
      onRotated(key);
    },
  });
  return (
    <Modal opened={target !== undefined} onClose={onClose} title={`Rotate “${target?.name ?? ""}”`}>
      <Stack gap="sm">
        <Text size="sm">Creates a new secret. Name, limits and spend stay the same.</Text>
        <Radio.Group label="Old secret expires" value={grace} onChange={setGrace}>
          <Stack gap={6} mt={4}>
            {graces.map((g) => (
              <Radio key={g.value} value={g.value} label={g.label} />
            ))}
          </Stack>
        </Radio.Group>
        {rotate.error && <ErrorPanel what="Could not rotate the key" error={rotate.error} />}
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

/** Revokes a key. A recently used key must be confirmed by typing its name. */
export function RevokeKeyDialog({ target, onClose }: { target: KeyView | undefined; onClose: () => void }) {
  const reload = useReloadKeys();
  const revoke = useMutation({
    mutationFn: () => must(api.DELETE("/keys/{id}", { params: { path: { id: target?.id ?? "" } } })),
    onSuccess: async (key) => {
      await reload();
      notifyDone(`Revoked “${key.name}”.`);
      onClose();
    },
  });
  const recent = target !== undefined && usedRecently(target);
  return (
    <ConfirmDialog
      opened={target !== undefined}
      title={`Revoke “${target?.name ?? ""}”`}
      action="Revoke"
      typed={recent ? target.name : undefined}
      pending={revoke.isPending}
      error={revoke.error && <ErrorPanel what="Could not revoke the key" error={revoke.error} />}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      Requests with this key are rejected immediately, on other replicas within seconds. This cannot be
      undone. The key and its requests stay listed.
      {recent && " This key was used in the last 24 hours, so a client may depend on it."}
    </ConfirmDialog>
  );
}
