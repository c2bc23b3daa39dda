import { Alert, Button, Group, NativeSelect, Progress, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import type { Schema } from "../../api/client";
import {
  type BacktestRequest,
  backtestQuery,
  backtestsQuery,
  cancelBacktest,
  startBacktest,
} from "../../api/routing";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PanelSkeleton } from "../../components/Loading";
import { useZone } from "../../lib/preferences";
import { formatCount, formatDuration } from "../../lib/numbers";
import { useSearchParams } from "../../lib/search";
import { formatRowTime } from "../../lib/time";
import { BacktestForm } from "./BacktestForm";
import { BacktestReport } from "./BacktestReport";

interface Props {
  /** The draft, if there is one that could be saved. */
  draft?: string;
  /** There is a draft, and it has problems. */
  broken: boolean;
}

/** Decides the traffic of the past anew: a job with its progress, and what it found. */
export function BacktestTab({ draft, broken }: Props) {
  const [search, change] = useSearchParams();
  const queryClient = useQueryClient();
  const id = search["backtest"];
  const start = useMutation({
    mutationFn: (ask: BacktestRequest) => startBacktest(ask),
    onSuccess: (job) => {
      queryClient.setQueryData(backtestQuery(job.id).queryKey, job);
      void queryClient.invalidateQueries({ queryKey: backtestsQuery.queryKey, exact: true });
      change({ backtest: job.id });
    },
  });
  return (
    <Stack gap="lg">
      <BacktestForm draft={draft} broken={broken} pending={start.isPending} onStart={start.mutate} />
      {start.error && <ErrorPanel what="The backtest was not started" error={start.error} />}
      <Earlier id={id} onChoose={(next) => change({ backtest: next })} />
      {id ? (
        <Job key={id} id={id} />
      ) : (
        <EmptyState icon="history" title="What would have happened?">
          A backtest decides stored requests again, under the draft or another objective, and counts what
          changes. It only reads the log, and calls no provider.
        </EmptyState>
      )}
    </Stack>
  );
}

/** The backtests that the gateway still remembers. */
function Earlier({ id, onChoose }: { id: string | undefined; onChoose: (id: string) => void }) {
  const { data } = useQuery(backtestsQuery);
  const [zone] = useZone();
  const jobs = data?.backtests ?? [];
  if (jobs.length < 2 && jobs[0]?.id === id) {
    return null;
  }
  if (jobs.length === 0) {
    return null;
  }
  return (
    <NativeSelect
      size="xs"
      maw={420}
      label="Earlier backtests"
      description="They are kept for an hour."
      value={id ?? ""}
      data={[
        { value: "", label: "choose one", disabled: true },
        ...jobs.map((job) => ({
          value: job.id,
          label: `${formatRowTime(job.started_at, zone)} · ${titleOf(job)}`,
        })),
      ]}
      onChange={(event) => onChoose(event.currentTarget.value)}
    />
  );
}

function titleOf(job: Schema["Backtest"]): string {
  const by = job.draft ? "a draft" : "the policies in force";
  return `${by}${job.objective ? `, objective ${job.objective}` : ""}, ${job.state}`;
}

function Job({ id }: { id: string }) {
  const queryClient = useQueryClient();
  const { data: job, error, refetch } = useQuery(backtestQuery(id));
  const cancel = useMutation({
    mutationFn: () => cancelBacktest(id),
    onSuccess: (ended) => queryClient.setQueryData(backtestQuery(id).queryKey, ended),
  });
  const state = job?.state;
  useEffect(() => {
    if (state && state !== "running") {
      void queryClient.invalidateQueries({ queryKey: backtestsQuery.queryKey, exact: true });
    }
  }, [state, queryClient]);
  if (error) {
    return (
      <ErrorPanel what="The backtest could not be loaded" error={error} onRetry={() => void refetch()} />
    );
  }
  if (!job) {
    return <PanelSkeleton />;
  }
  return (
    <Stack gap="lg">
      {job.state === "running" && (
        <Running job={job} pending={cancel.isPending} onCancel={() => cancel.mutate()} />
      )}
      {job.state === "failed" && (
        <ErrorPanel
          what="The backtest failed"
          error={new Error(job.error?.message ?? "It is not known why.")}
        />
      )}
      {job.state === "cancelled" && (
        <Alert color="gray" variant="outline" icon={<Icon name="stop" size={16} />} role="status">
          Cancelled after {formatCount(job.progress.done)} requests.
          {job.report && " What is below covers those."}
        </Alert>
      )}
      {job.report && <BacktestReport report={job.report} />}
    </Stack>
  );
}

function Running({
  job,
  pending,
  onCancel,
}: {
  job: Schema["Backtest"];
  pending: boolean;
  onCancel: () => void;
}) {
  const { done, total, rate, seconds_left: left } = job.progress;
  const parts = [
    total ? `${formatCount(done)} of ${formatCount(total)} requests` : `${formatCount(done)} requests`,
    rate !== null && `${formatCount(rate)} a second`,
    left !== null && `about ${formatDuration(Math.max(1000, left * 1000))} left`,
  ].filter(Boolean);
  return (
    <Group gap="sm" wrap="nowrap" role="status">
      <Stack gap={4} flex={1}>
        <Progress value={total ? (100 * done) / total : 0} animated aria-label="Backtest" />
        <Text size="xs" c="dimmed">
          {parts.join(" · ")}
        </Text>
      </Stack>
      <Button size="xs" variant="default" loading={pending} onClick={onCancel}>
        Cancel
      </Button>
    </Group>
  );
}
