import { Text } from "@mantine/core";
import type { ReactNode } from "react";

import { DecisionBadge, SimulatedBadge } from "../../components/badges";
import { Money } from "../../components/Money";
import { Tokens } from "../../components/Tokens";
import { formatChange, formatDuration } from "../../lib/numbers";
import classes from "./playground.module.css";
import { formatRatio } from "./spread";
import { type Attempt, isRunning, type Run, savedOf, savedPercent } from "./run";

interface Props {
  run: Run;
  /**
   * Compares the run with the run of the baseline column. The baseline of the request is not used, because it
   * differs between columns.
   */
  comparison?: { cost: number | undefined; time: number | undefined; isBaseline: boolean };
}

/** The routing, timing and cost of a run, filled in as headers and events arrive. */
export function RunFacts({ run, comparison }: Props) {
  const { facts } = run;
  const pending = isRunning(run);
  const why = pending ? "Available when the response is complete." : "Not reported.";
  const orPending = (known: boolean, shown: ReactNode) =>
    known ? shown : <Waiting pending={pending} why={why} />;
  return (
    <dl className={classes.facts} aria-live="polite">
      <Fact label="Decision">
        {orPending(
          facts.decision !== undefined,
          <>
            {facts.simulated && <SimulatedBadge />}{" "}
            <DecisionBadge decision={facts.decision} detail={reasonOf(run)} />
          </>,
        )}
      </Fact>
      <Fact label="Served by">
        {orPending(
          facts.model !== undefined,
          <>
            <strong>{facts.model}</strong> on {facts.provider}
          </>,
        )}
      </Fact>
      {facts.policy && <Fact label="Policy">{facts.policy}</Fact>}
      <Fact label="Attempts">
        {orPending(facts.attempts !== undefined, facts.attempts)}
        {failedAttempts(run).map((t, i) => (
          <Text key={i} size="xs" c="dimmed" title={t.message}>
            {t.model}: {t.status && t.status >= 400 ? t.status : ""} {t.class?.replaceAll("_", " ")}
          </Text>
        ))}
      </Fact>
      <Fact label="Time to first token">
        {orPending(run.ttftMs !== undefined, <Mono>{formatDuration(run.ttftMs)}</Mono>)}
      </Fact>
      <Fact label="Total">
        {orPending(run.totalMs !== undefined, <Mono>{formatDuration(run.totalMs)}</Mono>)}
      </Fact>
      <Fact label="Tokens in / out">
        {orPending(
          facts.tokens !== undefined,
          facts.tokens && <Tokens tokens={{ estimated: false, searches: 0, ...facts.tokens }} />,
        )}
      </Fact>
      <Fact label="Cost">{orPending(facts.cost !== undefined, <Money amount={facts.cost} paid />)}</Fact>
      {comparison ? <Compared {...comparison} /> : <Saved run={run} orPending={orPending} />}
    </dl>
  );
}

function Compared({ cost, time, isBaseline }: NonNullable<Props["comparison"]>) {
  if (isBaseline) {
    return <Fact label="Baseline">this column</Fact>;
  }
  return (
    <>
      <Fact label="Cost vs baseline">
        <Mono>{formatRatio(cost)}</Mono>
      </Fact>
      <Fact label="Time vs baseline">
        <Mono>{formatRatio(time)}</Mono>
      </Fact>
    </>
  );
}

/** The cost of the same tokens at the baseline of the request. */
function Saved({
  run: { facts },
  orPending,
}: {
  run: Run;
  orPending: (known: boolean, shown: ReactNode) => ReactNode;
}) {
  const percent = savedPercent(facts);
  return (
    <>
      <Fact label="Baseline">
        {facts.baselineModel && (
          <Text span size="xs" c="dimmed">
            {facts.baselineModel}{" "}
          </Text>
        )}
        {orPending(facts.baselineCost !== undefined, <Money amount={facts.baselineCost} paid />)}
      </Fact>
      <Fact label="Saved">
        {orPending(
          savedOf(facts) !== null,
          <>
            <Money amount={savedOf(facts)} />{" "}
            {percent !== null && <Mono>({formatChange(percent).replace(" ", "\u00a0")})</Mono>}
          </>,
        )}
      </Fact>
    </>
  );
}

/** The errors of the failed attempts, which explain a fallback. */
function reasonOf(run: Run): string | undefined {
  const failed = failedAttempts(run);
  return failed.length > 0
    ? failed
        .map((t) => `${t.provider}/${t.model}: ${t.status ? `${t.status} ` : ""}${t.message ?? t.class}`)
        .join("\n")
    : undefined;
}

function failedAttempts(run: Run): Attempt[] {
  return (run.facts.attemptList ?? []).filter((t) => t.class);
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Mono({ children }: { children: ReactNode }) {
  return (
    <Text span inherit ff="monospace">
      {children}
    </Text>
  );
}

function Waiting({ pending, why }: { pending: boolean; why: string }) {
  return (
    <Text span inherit c="dimmed" title={why}>
      {pending ? "…" : "—"}
    </Text>
  );
}
