import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { feedbackQuery, resetFeedback } from "../../api/routing";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { RowsSkeleton } from "../../components/Loading";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { notifyDone } from "../../lib/notify";
import { formatQuality, formatCount, plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { signed } from "./matrix";
import classes from "./policies.module.css";

type Model = Schema["ModelFeedback"];

/** The ratings per model and task, and how they correct the predicted quality. */
export function Ratings() {
  const { may } = useSession();
  const { data, error, refetch } = useQuery(feedbackQuery);
  const [reset, setReset] = useState<{ model?: string }>();
  if (error) {
    return <ErrorPanel what="Could not load ratings" error={error} onRetry={() => void refetch()} />;
  }
  if (!data) {
    return <RowsSkeleton rows={4} />;
  }
  const onReset = may("manage_policies") ? setReset : undefined;
  return (
    <>
      <Section
        title="Ratings"
        actions={
          onReset &&
          data.models.length > 1 && (
            <Button size="xs" variant="default" onClick={() => onReset({})}>
              Reset all
            </Button>
          )
        }
      >
        {data.models.length === 0 ? (
          <EmptyState icon="thumbUp" title="No ratings yet">
            Rate responses on the request page, or with POST /proxy/v1/feedback. After 50 ratings and
            comparisons, they adjust the predicted quality of models if that makes predictions more accurate.
          </EmptyState>
        ) : (
          <Stack gap="lg">
            {data.models.map((model) => (
              <ModelRatings
                key={model.model}
                model={model}
                onReset={onReset && (() => onReset({ model: model.model }))}
              />
            ))}
          </Stack>
        )}
      </Section>
      {reset && <Reset model={reset.model} models={data.models} onClose={() => setReset(undefined)} />}
    </>
  );
}

function ModelRatings({ model: m, onReset }: { model: Model; onReset?: () => void }) {
  return (
    <div role="group" aria-label={m.model}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          <strong>{m.model}</strong> {headline(m)}
          {m.outdated > 0 && (
            <Text span size="xs" c="dimmed">
              {" "}
              {plural(m.outdated, "older rating")} not counted.
            </Text>
          )}
        </Text>
        {onReset && (
          <Button
            size="compact-xs"
            variant="default"
            onClick={onReset}
            aria-label={`Reset ratings for ${m.model}`}
          >
            Reset
          </Button>
        )}
      </Group>
      {m.tasks.length > 0 && (
        <div
          className={classes.scroll}
          role="region"
          aria-label={`Ratings for ${m.model} by task`}
          tabIndex={0}
        >
          <Table fz="sm" verticalSpacing={4} aria-label={`Ratings for ${m.model}`}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Task</Table.Th>
                {["Correction", "Ratings", "Mean score", "Predicted before", "Predicted now"].map(
                  (heading) => (
                    <Table.Th key={heading} ta="right">
                      {heading}
                    </Table.Th>
                  ),
                )}
                <Table.Th>Newest</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {m.tasks.map((t) => (
                <Table.Tr key={t.task}>
                  <Table.Td>{t.task.replaceAll("_", " ") || "unknown"}</Table.Td>
                  {[
                    t.shift === null ? "—" : signed(t.shift, 2),
                    formatCount(t.ratings),
                    formatQuality(t.score),
                    formatQuality(t.before),
                    formatQuality(t.after),
                  ].map((text, i) => (
                    <Table.Td key={i} ta="right" ff="monospace">
                      {text}
                    </Table.Td>
                  ))}
                  <Table.Td>
                    <Time at={t.newest} as="age" />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </div>
  );
}

/** Summarises the task with the most ratings: "+0.06 on code, 214 ratings". */
function headline(m: Model): string {
  const most = [...m.tasks].sort((a, b) => b.ratings - a.ratings)[0];
  if (m.corrected && most) {
    return most.words.replace(/^-/, "−");
  }
  return m.total.ratings > 0 ? `${plural(m.total.ratings, "rating")}, no correction` : "no counted ratings";
}

function Reset({ model, models, onClose }: { model?: string; models: Model[]; onClose: () => void }) {
  const queryClient = useQueryClient();
  const reset = useMutation({
    mutationFn: () => resetFeedback(model),
    onSuccess: (saved) => {
      queryClient.setQueryData(feedbackQuery.queryKey, saved);
      notifyDone(model ? `Ratings for ${model} reset.` : "All ratings reset.");
      onClose();
    },
  });
  const counted = models
    .filter((m) => !model || m.model === model)
    .reduce((sum, m) => sum + m.total.ratings, 0);
  return (
    <ConfirmDialog
      opened
      title={model ? `Reset ratings for ${model}` : "Reset all ratings"}
      action="Reset"
      pending={reset.isPending}
      error={reset.error && <ErrorPanel what="Could not reset the ratings" error={reset.error} />}
      onConfirm={() => reset.mutate()}
      onClose={onClose}
    >
      {plural(counted, "rating")} will no longer adjust the predicted quality. They stay visible on their
      requests, and new ratings count. This cannot be undone.
    </ConfirmDialog>
  );
}
