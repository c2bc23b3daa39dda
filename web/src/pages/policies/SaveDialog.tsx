import { Alert, Button, Group, Modal, Stack, Tabs, Text, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { ApiError, asApiError } from "../../api/errors";
import { checkPolicies, policiesQuery, policyDiffQuery, savePolicies } from "../../api/routing";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PanelSkeleton } from "../../components/Loading";
import { notifyDone } from "../../lib/notify";
import { DiffView, diffCount } from "./DiffView";
import type { Draft } from "./draft";

interface Props {
  draft: Draft;
  opened: boolean;
  onClose: () => void;
  onSaved: (saved: Schema["WorkspacePolicies"]) => void;
  /** Loads the newer version and drops the draft. */
  onReload: () => void;
}

/** Shows the changes, asks for a note and saves a version. */
export function SaveDialog(props: Props) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title="Save policies" size="xl">
      {props.opened && <Content {...props} />}
    </Modal>
  );
}

function Content({ draft, onClose, onSaved, onReload }: Props) {
  const [note, setNote] = useState("");
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn: (basedOn: number) => savePolicies(draft.source, basedOn, note.trim()),
    onSuccess: async (saved) => {
      await queryClient.invalidateQueries({ queryKey: policiesQuery.queryKey });
      onSaved(saved);
      notifyDone(`Version ${saved.version} saved and active.`);
    },
  });
  const newer = newerVersion(save.error);
  if (newer !== undefined) {
    return (
      <Conflict
        draft={draft}
        newer={newer}
        pending={save.isPending}
        onReload={onReload}
        onSave={() => save.mutate(newer)}
      />
    );
  }
  const lines = draft.check?.diff ?? [];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(draft.basedOn);
      }}
    >
      <Stack gap="sm">
        <Text size="sm">
          {draft.basedOn === 0 ? "First version" : `Changes since version ${draft.basedOn}`}:{" "}
          {diffCount(lines)}. Takes effect immediately.
        </Text>
        <DiffView lines={lines} label="Changes" />
        <Textarea
          label="Note"
          description="Reason for the change, shown in the version list"
          autosize
          minRows={2}
          maxLength={500}
          value={note}
          data-autofocus
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        {save.error && <ErrorPanel what="Could not save the policies" error={save.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending}>
            Save as version {draft.basedOn + 1}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The version that another user saved in the meantime, if that caused the error. */
export function newerVersion(error: unknown): number | undefined {
  if (!(error instanceof ApiError) || error.code !== "CONFLICT") {
    return undefined;
  }
  const version = asApiError(error).details["version"];
  return typeof version === "number" ? version : undefined;
}

interface ConflictProps {
  draft: Draft;
  newer: number;
  pending: boolean;
  onReload: () => void;
  onSave: () => void;
}

/** Shows the changes of a newer version and those of the draft against it. */
function Conflict({ draft, newer, pending, onReload, onSave }: ConflictProps) {
  const theirs = useQuery(policyDiffQuery(draft.basedOn, newer));
  const mine = useQuery({
    queryKey: ["policies", "check", newer, draft.source],
    queryFn: () => checkPolicies({ source: draft.source }),
  });
  return (
    <Stack gap="sm">
      <Alert
        color="orange"
        variant="outline"
        icon={<Icon name="alert" size={18} />}
        title="Newer version saved"
      >
        You edited version {draft.basedOn}, but version {newer} is active now. Your changes are not lost.
      </Alert>
      <Tabs defaultValue="theirs">
        <Tabs.List>
          <Tabs.Tab value="theirs">
            Their changes: version {draft.basedOn} to {newer}
          </Tabs.Tab>
          <Tabs.Tab value="mine">Your changes to version {newer}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="theirs" pt="xs">
          {theirs.data ? <DiffView lines={theirs.data.lines} label="Their changes" /> : <PanelSkeleton />}
        </Tabs.Panel>
        <Tabs.Panel value="mine" pt="xs">
          {mine.data ? <DiffView lines={mine.data.diff} label="Your changes" /> : <PanelSkeleton />}
        </Tabs.Panel>
      </Tabs>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onReload}>
          Load version {newer} and discard mine
        </Button>
        <Button color="red" loading={pending} onClick={onSave}>
          Overwrite with mine
        </Button>
      </Group>
    </Stack>
  );
}
