import { Button, Group, NumberInput, SimpleGrid, Stack, Switch, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import type { Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { saveWorkspace, workspaceQuery } from "../../api/manage";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { notifyDone } from "../../lib/notify";
import { daysOf, isShorter, keptFor, msOf } from "./retention";

interface Props {
  workspace: Schema["WorkspaceView"];
  settings: Schema["SettingsView"];
  editable: boolean;
}

/** How long requests and their texts are kept, and whether texts are stored at all. */
export function RetentionForm({ workspace, settings, editable }: Props) {
  const [entries, setEntries] = useState(daysOf(workspace.entry_retention_ms));
  const [bodies, setBodies] = useState(daysOf(workspace.body_retention_ms));
  const [log, setLog] = useState(workspace.log_bodies);
  const [asking, setAsking] = useState(false);
  const save = useSave(() => setAsking(false));
  const problems = save.error ? asApiError(save.error).problems : {};
  const shown = problems["entry_retention_ms"] ?? problems["body_retention_ms"];

  const lessEntries = isShorter(workspace.entry_retention_ms, msOf(entries), settings.entry_retention_ms);
  const lessBodies = isShorter(workspace.body_retention_ms, msOf(bodies), settings.body_retention_ms);
  const changed =
    msOf(entries) !== workspace.entry_retention_ms ||
    msOf(bodies) !== workspace.body_retention_ms ||
    log !== workspace.log_bodies;
  const submit = () =>
    save.mutate({ entry_retention_ms: msOf(entries), body_retention_ms: msOf(bodies), log_bodies: log });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (lessEntries || lessBodies) {
      setAsking(true);
    } else {
      submit();
    }
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="md" maw={620}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Days
            label="Requests"
            description="The log: models, costs, times, decisions."
            value={entries}
            onChange={setEntries}
            own={settings.entry_retention_ms}
            disabled={!editable}
            error={problems["entry_retention_ms"]}
          />
          <Days
            label="Texts"
            description="What was asked and answered."
            value={bodies}
            onChange={setBodies}
            own={settings.body_retention_ms}
            disabled={!editable}
            error={problems["body_retention_ms"]}
          />
        </SimpleGrid>
        <Switch
          label="Store the texts of requests and answers"
          description={
            settings.log_bodies
              ? "From the next request on. A key can differ, and a request can refuse with x-fairlead-log-body: false."
              : "This gateway stores no texts at all: log.bodies is false in its configuration, and that wins."
          }
          checked={log && settings.log_bodies}
          disabled={!editable || !settings.log_bodies}
          onChange={(event) => setLog(event.currentTarget.checked)}
        />
        {save.error && !shown && <ErrorPanel what="The settings were not saved" error={save.error} />}
        {editable && (
          <Group>
            <Button type="submit" disabled={!changed} loading={save.isPending}>
              Save
            </Button>
            <Text size="xs" c="dimmed">
              Takes effect at once; nothing needs a restart.
            </Text>
          </Group>
        )}
      </Stack>
      <ConfirmDialog
        opened={asking}
        title="Keep data for a shorter time"
        action="Save and delete what is older"
        pending={save.isPending}
        error={save.error && <ErrorPanel what="The settings were not saved" error={save.error} />}
        onConfirm={submit}
        onClose={() => setAsking(false)}
      >
        {lessEntries && (
          <p>
            Requests of “{workspace.name}” older than {keptFor(msOf(entries) ?? settings.entry_retention_ms)}{" "}
            are deleted with their texts within minutes.
          </p>
        )}
        {lessBodies && (
          <p>
            Texts older than {keptFor(msOf(bodies) ?? settings.body_retention_ms)} are deleted within minutes;
            their requests stay.
          </p>
        )}
        <p>This cannot be undone. Totals and charts keep their sums.</p>
      </ConfirmDialog>
    </form>
  );
}

function useSave(onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: saveWorkspace,
    onSuccess: (held) => {
      queryClient.setQueryData(workspaceQuery.queryKey, held);
      notifyDone("Saved, and read back from the gateway.");
      onDone();
    },
  });
}

interface DaysProps {
  label: string;
  description: string;
  value: number | "";
  onChange: (days: number | "") => void;
  own: number | null;
  disabled: boolean;
  error?: string;
}

function Days({ label, description, value, onChange, own, disabled, error }: DaysProps) {
  return (
    <NumberInput
      label={`Keep ${label.toLowerCase()}`}
      description={`${description} Empty: as the gateway does, ${keptFor(own)}.`}
      placeholder={keptFor(own)}
      suffix=" days"
      min={1}
      max={36_500}
      decimalScale={2}
      disabled={disabled}
      value={value}
      onChange={(days) => onChange(typeof days === "number" ? days : "")}
      error={error}
    />
  );
}
