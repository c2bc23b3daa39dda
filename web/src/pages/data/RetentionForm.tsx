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

/** Retention of requests, and retention and storage of prompts and responses. */
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
            label="Keep requests for"
            description="Models, costs, latency and decisions."
            value={entries}
            onChange={setEntries}
            inherited={settings.entry_retention_ms}
            disabled={!editable}
            error={problems["entry_retention_ms"]}
          />
          <Days
            label="Keep prompts and responses for"
            description="Message content of requests."
            value={bodies}
            onChange={setBodies}
            inherited={settings.body_retention_ms}
            disabled={!editable}
            error={problems["body_retention_ms"]}
          />
        </SimpleGrid>
        <Switch
          label="Store prompts and responses"
          description={
            settings.log_bodies
              ? "A key can override this. A request can opt out with x-fairlead-log-body: false."
              : "Disabled for the whole gateway: log.bodies is false in its configuration."
          }
          checked={log && settings.log_bodies}
          disabled={!editable || !settings.log_bodies}
          onChange={(event) => setLog(event.currentTarget.checked)}
        />
        {save.error && !shown && <ErrorPanel what="Could not save the settings" error={save.error} />}
        {editable && (
          <Group>
            <Button type="submit" disabled={!changed} loading={save.isPending}>
              Save
            </Button>
            <Text size="xs" c="dimmed">
              Takes effect immediately. No restart needed.
            </Text>
          </Group>
        )}
      </Stack>
      <ConfirmDialog
        opened={asking}
        title="Shorten retention"
        action="Save and delete older data"
        pending={save.isPending}
        error={save.error && <ErrorPanel what="Could not save the settings" error={save.error} />}
        onConfirm={submit}
        onClose={() => setAsking(false)}
      >
        {lessEntries && (
          <p>
            Deletes requests in “{workspace.name}” older than{" "}
            {keptFor(msOf(entries) ?? settings.entry_retention_ms)}, with their prompts and responses.
          </p>
        )}
        {lessBodies && (
          <p>
            Deletes prompts and responses older than {keptFor(msOf(bodies) ?? settings.body_retention_ms)}.
            Their requests stay.
          </p>
        )}
        <p>This cannot be undone. Totals and charts don’t change.</p>
      </ConfirmDialog>
    </form>
  );
}

function useSave(onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: saveWorkspace,
    onSuccess: (saved) => {
      queryClient.setQueryData(workspaceQuery.queryKey, saved);
      notifyDone("Settings saved.");
      onDone();
    },
  });
}

interface DaysProps {
  label: string;
  description: string;
  value: number | "";
  onChange: (days: number | "") => void;
  inherited: number | null;
  disabled: boolean;
  error?: string;
}

function Days({ label, description, value, onChange, inherited, disabled, error }: DaysProps) {
  return (
    <NumberInput
      label={label}
      description={`${description} Leave empty for the default (${keptFor(inherited)}).`}
      placeholder={keptFor(inherited)}
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
