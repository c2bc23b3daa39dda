import { Alert, Button, Group, NativeSelect, Progress, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import type { Schema } from "../../api/client";
import { backtestQuery, backtestsQuery, cancelBacktest, startBacktest } from "../../api/routing";
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
  /** The draft, if it is valid. */
  draft?: string;
  /** Whether there is a draft with errors. */
  broken: boolean;
}

/** Runs a backtest over past requests, with progress and result. */
export function BacktestTab({ draft, broken }: Props) {
  const [search, change] = useSearchParams();
  const queryClient = useQueryClient();
  const id = search["backtest"];
  const start = useMutation({
    mutationFn: startBacktest,
    onSuccess: (job) => {
      queryClient.setQueryData(backtestQuery(job.id).queryKey, job);
      void queryClient.invalidateQueries({ queryKey: backtestsQuery.queryKey, exact: true });
      change({ backtest: job.id });
    },
  });
  return (
    <Stack gap="lg">
      <BacktestForm draft={draft} broken={broken} pending={start.isPending} onStart={start.mutate} />
      {start.error && <ErrorPanel what="Could not start the backtest" error={start.error} />}
      <EarlierBacktests id={id} onChoose={(next) => change({ backtest: next })} />
      {id ? (
        <Job key={id} id={id} />
      ) : (
        <EmptyState icon="history" title="No backtest selected">
          A backtest re-runs logged requests with a draft or another objective and shows what would change. It
          never calls a provider.
        </EmptyState>
      )}
    </Stack>
  );
}

/** Selects a recent backtest. */
function EarlierBacktests({ id, onChoose }: { id: string | undefined; onChoose: (id: string) => void }) {
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
      description="Kept for one hour"
      value={id ?? ""}
      data={[
        { value: "", label: "Choose a backtest", disabled: true },
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
  const by = job.draft ? "draft" : "current policies";
  return `${by}${job.objective ? `, objective ${job.objective}` : ""}, ${job.state}`;
}

function Job({ id }: { id: string }) {
  const queryClient = useQueryClient();
  const { data: job, error, refetch } = useQuery(backtestQuery(id));
  const cancel = useMutation({
    mutationFn: () => cancelBacktest(id),
    onSuccess: (cancelled) => queryClient.setQueryData(backtestQuery(id).queryKey, cancelled),
  });
  const state = job?.state;
  useEffect(() => {
    if (state && state !== "running") {
      void queryClient.invalidateQueries({ queryKey: backtestsQuery.queryKey, exact: true });
    }
  }, [state, queryClient]);
  if (error) {
    return <ErrorPanel what="Could not load the backtest" error={error} onRetry={() => void refetch()} />;
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
        <ErrorPanel what="Backtest failed" error={new Error(job.error?.message ?? "Unknown error.")} />
      )}
      {job.state === "cancelled" && (
        <Alert color="gray" variant="outline" icon={<Icon name="stop" size={16} />} role="status">
          Cancelled after {formatCount(job.progress.done)} requests.
          {job.report && " The report covers these requests."}
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
    rate !== null && `${formatCount(rate)} / s`,
    left !== null && `about ${formatDuration(Math.max(1000, left * 1000))} left`,
  ].filter(Boolean);
  return (
    <Group gap="sm" wrap="nowrap" role="status">
      <Stack gap={4} flex={1}>
        <Progress value={total ? (100 * done) / total : 0} animated aria-label="Backtest progress" />
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
