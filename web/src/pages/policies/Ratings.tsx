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

/** What the workspace's ratings make of models: what was expected, what was said, and what is expected now. */
export function Ratings() {
  const { may } = useSession();
  const { data, error, refetch } = useQuery(feedbackQuery);
  const [reset, setReset] = useState<{ model?: string }>();
  if (error) {
    return <ErrorPanel what="The ratings could not be loaded" error={error} onRetry={() => void refetch()} />;
  }
  if (!data) {
    return <RowsSkeleton rows={4} />;
  }
  const onReset = may("manage_policies") ? setReset : undefined;
  return (
    <>
      <Section
        title="What your ratings say"
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
            Rate answers with thumbs on the page of a request, or with POST /proxy/v1/feedback. What people
            say of a model’s answers here corrects what the router expects of it here.
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
      <Signals signals={data.signals} />
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
              {plural(m.outdated, "older rating")} {m.outdated === 1 ? "counts" : "count"} no longer.
            </Text>
          )}
        </Text>
        {onReset && (
          <Button
            size="compact-xs"
            variant="default"
            onClick={onReset}
            aria-label={`Reset the ratings of ${m.model}`}
          >
            Reset
          </Button>
        )}
      </Group>
      {m.tasks.length > 0 && (
        <div
          className={classes.scroll}
          role="region"
          aria-label={`Ratings of ${m.model} by task`}
          tabIndex={0}
        >
          <Table fz="sm" verticalSpacing={4} aria-label={`Ratings of ${m.model}`}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Task</Table.Th>
                {["Correction", "Ratings", "Mean score", "Expected before", "Expected now"].map((word) => (
                  <Table.Th key={word} ta="right">
                    {word}
                  </Table.Th>
                ))}
                <Table.Th>Newest</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {m.tasks.map((t) => (
                <Table.Tr key={t.task}>
                  <Table.Td>{t.task.replaceAll("_", " ") || "not known"}</Table.Td>
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

/** "+0.06 on code, 214 ratings", of the task with the most ratings; else that nothing is corrected. */
function headline(m: Model): string {
  const most = [...m.tasks].sort((a, b) => b.ratings - a.ratings)[0];
  if (m.corrected && most) {
    return most.words.replace(/^-/, "−");
  }
  return m.total.ratings > 0
    ? `${plural(m.total.ratings, "rating")}, not corrected`
    : "no ratings that count";
}

const signalWords: Record<Schema["SignalCount"]["signal"], string> = {
  schema_violation: "breaks the JSON schema",
  refusal: "refuses",
  truncation: "is cut off",
  retry: "the same prompt comes again at once",
};

/** What answers show by themselves. Nobody said so, and it corrects nothing. */
function Signals({ signals }: { signals: Schema["SignalCount"][] }) {
  return (
    <Section title="What answers show by themselves">
      <Text size="sm" c="dimmed" mb="xs">
        Signals of the last 30 days. They are counted apart and correct nothing.
      </Text>
      {signals.length === 0 ? (
        <Text size="sm">None.</Text>
      ) : (
        <Table fz="sm" verticalSpacing={4} aria-label="Signals" maw={640}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Model</Table.Th>
              <Table.Th>Task</Table.Th>
              <Table.Th>The answer</Table.Th>
              <Table.Th ta="right">Times</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {signals.map((s) => (
              <Table.Tr key={`${s.model}/${s.task}/${s.signal}`}>
                <Table.Td>{s.model}</Table.Td>
                <Table.Td>{s.task.replaceAll("_", " ") || "not known"}</Table.Td>
                <Table.Td>{signalWords[s.signal]}</Table.Td>
                <Table.Td ta="right" ff="monospace">
                  {formatCount(s.count)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  );
}

function Reset({ model, models, onClose }: { model?: string; models: Model[]; onClose: () => void }) {
  const queryClient = useQueryClient();
  const reset = useMutation({
    mutationFn: () => resetFeedback(model),
    onSuccess: (held) => {
      queryClient.setQueryData(feedbackQuery.queryKey, held);
      notifyDone(model ? `The ratings of ${model} count no longer.` : "The ratings so far count no longer.");
      onClose();
    },
  });
  const counted = models
    .filter((m) => !model || m.model === model)
    .reduce((sum, m) => sum + m.total.ratings, 0);
  return (
    <ConfirmDialog
      opened
      title={model ? `Reset the ratings of ${model}` : "Reset all ratings"}
      action="Reset"
      pending={reset.isPending}
      error={reset.error && <ErrorPanel what="The ratings were not reset" error={reset.error} />}
      onConfirm={() => reset.mutate()}
      onClose={onClose}
    >
      {plural(counted, "rating")} will correct nothing any more: the router expects again what the predictor
      says. They stay readable at their requests, and later ratings count. This cannot be undone.
    </ConfirmDialog>
  );
}
