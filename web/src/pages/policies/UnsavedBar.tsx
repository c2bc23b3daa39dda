import { Button, Group, Paper, Text } from "@mantine/core";

import { Icon } from "../../components/Icon";
import { plural } from "../../lib/numbers";
import { type Draft, isDirty, isCheckable, isReady } from "./draft";
import classes from "./policies.module.css";

interface Props {
  draft: Draft;
  /** Whether another user saved a newer version than the edited one. */
  newer: boolean;
  onSave: () => void;
  onDiscard: () => void;
}

/** Shows that there are unsaved changes, and why they cannot be saved yet. */
export function UnsavedBar({ draft, newer, onSave, onDiscard }: Props) {
  if (!isDirty(draft)) {
    return null;
  }
  const problems = draft.check?.problems.length ?? 0;
  const state = problems
    ? `Fix ${plural(problems, "error")} before saving.`
    : draft.check || !isCheckable(draft)
      ? ""
      : "Checking…";
  return (
    <Paper
      withBorder
      shadow="md"
      p="xs"
      mt="md"
      className={classes.unsaved}
      role="region"
      aria-label="Unsaved changes"
    >
      <Group gap="xs" justify="space-between">
        <Group gap={6} wrap="nowrap">
          <Icon name={problems ? "alert" : "edit"} size={16} />
          <Text size="sm">
            <strong>Unsaved changes.</strong> {newer && "Another user saved a newer version. "}
            {state}
          </Text>
        </Group>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={onDiscard}>
            Discard
          </Button>
          <Button size="xs" disabled={!isReady(draft)} onClick={onSave}>
            Save…
          </Button>
        </Group>
      </Group>
    </Paper>
  );
}
