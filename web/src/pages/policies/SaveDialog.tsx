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
  onSaved: (held: Schema["WorkspacePolicies"]) => void;
  /** Takes what somebody else saved, and gives up the draft. */
  onReload: () => void;
}

/** Asks why, shows what changes, and makes a version of it. */
export function SaveDialog(props: Props) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title="Save the policies" size="xl">
      {props.opened && <Content {...props} />}
    </Modal>
  );
}

function Content({ draft, onClose, onSaved, onReload }: Props) {
  const [note, setNote] = useState("");
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn: (basedOn: number) => savePolicies(draft.source, basedOn, note.trim()),
    onSuccess: async (held) => {
      await queryClient.invalidateQueries({ queryKey: policiesQuery.queryKey });
      onSaved(held);
      notifyDone(`Version ${held.version} is in force.`);
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
          Against {draft.basedOn === 0 ? "nothing: these are the first" : `version ${draft.basedOn}`},{" "}
          {diffCount(lines)}. In force at once, nothing needs a restart.
        </Text>
        <DiffView lines={lines} label="Changes" />
        <Textarea
          label="Note"
          description="Why it is changed, for those who read the list of versions."
          autosize
          minRows={2}
          maxLength={500}
          value={note}
          data-autofocus
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        {save.error && <ErrorPanel what="The policies were not saved" error={save.error} />}
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

/** The version that somebody else saved meanwhile, if that is why it failed. */
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

/** Somebody was faster: what they changed, and what this draft would change of it. */
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
        title="Somebody saved meanwhile"
      >
        You edited version {draft.basedOn}; version {newer} is in force by now. Nothing of yours is lost yet.
      </Alert>
      <Tabs defaultValue="theirs">
        <Tabs.List>
          <Tabs.Tab value="theirs">
            Theirs: version {draft.basedOn} to {newer}
          </Tabs.Tab>
          <Tabs.Tab value="mine">Yours against version {newer}</Tabs.Tab>
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
          Load version {newer}, drop mine
        </Button>
        <Button color="red" loading={pending} onClick={onSave}>
          Save mine over it
        </Button>
      </Group>
    </Stack>
  );
}
