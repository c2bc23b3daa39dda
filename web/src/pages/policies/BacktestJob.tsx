import { Alert, Button, Group, Progress, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import type { Schema } from "../../api/client";
import { backtestQuery, backtestsQuery, cancelBacktest } from "../../api/routing";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PanelSkeleton } from "../../components/Loading";
import { formatCount, formatDuration } from "../../lib/numbers";
import { BacktestReport } from "./BacktestReport";

/** The progress and result of a backtest. */
export function BacktestJob({ id }: { id: string }) {
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
