import { NativeSelect, Stack } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import type { Schema } from "../../api/client";
import { backtestQuery, backtestsQuery, startBacktest } from "../../api/routing";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { useZone } from "../../lib/preferences";
import { useSearchParams } from "../../lib/search";
import { formatRowTime } from "../../lib/time";
import { BacktestForm } from "./BacktestForm";
import { BacktestJob } from "./BacktestJob";

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
        <BacktestJob key={id} id={id} />
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
