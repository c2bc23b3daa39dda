import { Button, Group, Table, Text, VisuallyHidden } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { Section } from "../../components/Section";
import { notifyDone } from "../../lib/notify";
import { formatCount, formatQuality } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { taskLabel } from "../../lib/tasks";
import { statusText } from "./learning";
import classes from "./learning.module.css";
import { enableLearning, learningQuery, resetLearning } from "./query";

type State = Schema["LearningState"];

/** The results of learning from outcomes: abilities by model and task. */
export function LearnedSection() {
  const { may } = useSession();
  const { data, error, refetch } = useQuery(learningQuery);
  const [reset, setReset] = useState<{ model?: string }>();
  if (error) {
    return (
      <ErrorPanel what="Could not load the learned abilities" error={error} onRetry={() => void refetch()} />
    );
  }
  if (!data) {
    return <PanelSkeleton height={120} />;
  }
  return (
    <Section
      title="What the router learned"
      actions={
        may("manage_policies") && (
          <Group gap="xs">
            <Switch state={data} />
            <Button size="xs" variant="default" disabled={data.verdicts === 0} onClick={() => setReset({})}>
              Reset
            </Button>
          </Group>
        )
      }
    >
      <Text size="sm" mb="xs">
        {statusText(data)}
      </Text>
      {data.abilities.length > 0 && (
        <Abilities
          rows={data.abilities}
          onReset={may("manage_policies") ? (model) => setReset({ model }) : undefined}
        />
      )}
      {reset && <Reset model={reset.model} onClose={() => setReset(undefined)} />}
    </Section>
  );
}

/** Switches learning on and off. */
function Switch({ state }: { state: State }) {
  const queryClient = useQueryClient();
  const { settings } = state;
  const change = useMutation({
    mutationFn: () => enableLearning(!settings.enabled),
    onSuccess: (saved) => {
      queryClient.setQueryData(learningQuery.queryKey, saved);
      notifyDone(saved.settings.enabled ? "Learning enabled." : "Learning disabled.");
    },
  });
  return (
    <Button size="xs" variant="default" loading={change.isPending} onClick={() => change.mutate()}>
      {settings.enabled ? "Disable learning" : "Enable learning"}
    </Button>
  );
}

function Abilities({
  rows,
  onReset,
}: {
  rows: Schema["LearnedAbility"][];
  onReset?: (model: string) => void;
}) {
  return (
    <div className={classes.scroll} role="region" aria-label="Learned abilities table" tabIndex={0}>
      <Table fz="sm" verticalSpacing={4} aria-label="Learned abilities">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Model</Table.Th>
            <Table.Th>Task</Table.Th>
            {["Outcomes", "Static", "Learned", "95 % interval"].map((heading) => (
              <Table.Th key={heading} ta="right">
                {heading}
              </Table.Th>
            ))}
            {onReset && (
              <Table.Th pos="relative">
                <VisuallyHidden>Actions</VisuallyHidden>
              </Table.Th>
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, index) => (
            <Table.Tr key={`${row.model} ${row.task}`}>
              <Table.Td>{row.model}</Table.Td>
              <Table.Td>{taskLabel(row.task) || "unknown"}</Table.Td>
              {[
                formatCount(row.outcomes),
                formatQuality(row.static),
                formatQuality(row.learned),
                `${formatQuality(row.low)} to ${formatQuality(row.high)}`,
              ].map((text, i) => (
                <Table.Td key={i} ta="right" ff="monospace">
                  {text}
                </Table.Td>
              ))}
              {onReset && (
                <Table.Td ta="right">
                  {row.model !== rows[index - 1]?.model && (
                    <Button
                      size="compact-xs"
                      variant="default"
                      onClick={() => onReset(row.model)}
                      aria-label={`Reset outcomes of ${row.model}`}
                    >
                      Reset
                    </Button>
                  )}
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Reset({ model, onClose }: { model?: string; onClose: () => void }) {
  const queryClient = useQueryClient();
  const reset = useMutation({
    mutationFn: () => resetLearning(model),
    onSuccess: (saved) => {
      queryClient.setQueryData(learningQuery.queryKey, saved);
      notifyDone("Learned abilities reset.");
      onClose();
    },
  });
  return (
    <ConfirmDialog
      opened
      title={model ? `Reset outcomes of ${model}` : "Reset the learned abilities"}
      action="Reset"
      pending={reset.isPending}
      error={reset.error && <ErrorPanel what="Could not reset" error={reset.error} />}
      onConfirm={() => reset.mutate()}
      onClose={onClose}
    >
      The ratings and verdicts {model ? `of ${model}` : "of all models"} will no longer affect routing. They
      stay visible, and new ones count. This cannot be undone.
    </ConfirmDialog>
  );
}
