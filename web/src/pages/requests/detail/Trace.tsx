import { Badge, Group, List, Stack, Table, Text, Title, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";

import type { Schema } from "../../../api/client";
import { Icon } from "../../../components/Icon";
import { Money } from "../../../components/Money";
import { formatCount, formatDuration, formatMicros } from "../../../lib/numbers";
import classes from "./detail.module.css";

type Decision = Schema["Decision"];
type Candidate = Schema["Candidate"];

/** How the decision came about, in the order in which it was made. */
export function Trace({ trace, attempts = [] }: { trace: Decision; attempts?: Schema["AttemptView"][] }) {
  return (
    <Stack gap="md">
      <TraceStep number={1} title="Features seen">
        <Features input={trace.input} />
      </TraceStep>
      <TraceStep number={2} title="Policies evaluated">
        <Policies hits={trace.policies} />
      </TraceStep>
      <TraceStep number={3} title="Candidates">
        <Candidates trace={trace} attempts={attempts} />
      </TraceStep>
      <TraceStep number={4} title="Choice">
        <Choice trace={trace} />
      </TraceStep>
      <Text size="xs" c="dimmed">
        Decided in {formatMicros(trace.micros)} · router {trace.versions.router} · catalog{" "}
        {trace.versions.catalog}
        {trace.versions.policy && ` · policies ${trace.versions.policy}`}
      </Text>
    </Stack>
  );
}

function TraceStep({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <div>
      <Title order={3} size="sm" mb={4}>
        {number}. {title}
      </Title>
      {children}
    </div>
  );
}

function Features({ input }: { input: Schema["Input"] }) {
  const facts: [string, ReactNode][] = [
    ["asked for", input.model],
    ["objective", `${input.objective.name} (trade-off ${input.objective.tradeoff})`],
    ["input", `≈ ${formatCount(input.input_tokens)} tokens`],
    ["output at most", input.max_output ? `${formatCount(input.max_output)} tokens` : undefined],
    ["messages", input.messages || undefined],
    ["images", input.images || undefined],
    ["needs", input.needs.length > 0 ? input.needs.join(", ") : undefined],
    ["stream", input.stream ? "yes" : undefined],
    ["dimensions", input.dimensions || undefined],
    ["key allows", input.allowed_models?.join(", ")],
    ["fallbacks asked for", input.controls?.models?.join(", ")],
    ["session", input.controls?.session_id],
  ];
  return (
    <Group gap="xs">
      {facts
        .filter(([, value]) => value !== undefined && value !== "")
        .map(([name, value]) => (
          <Badge key={name} color="gray" radius="sm" size="lg" fw={400} miw="max-content">
            {name}: <strong>{value}</strong>
          </Badge>
        ))}
    </Group>
  );
}

function Policies({ hits }: { hits: Schema["PolicyHit"][] }) {
  if (hits.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        None: routing on score only.
      </Text>
    );
  }
  return (
    <List size="sm" spacing={4} center icon={null}>
      {hits.map((hit, i) => (
        <List.Item key={i} icon={<Icon name={hit.matched ? "check" : "skip"} size={14} />}>
          <strong>{hit.name}</strong> {hit.matched ? "matched" : "skipped"}
          {hit.effect && `: ${hit.effect}`}
          {hit.reason && ` – ${hit.reason}`}
        </List.Item>
      ))}
    </List>
  );
}

function Candidates({ trace, attempts }: { trace: Decision; attempts: Schema["AttemptView"][] }) {
  const eligible = trace.candidates.filter((c) => !c.excluded);
  const excluded = trace.candidates.filter((c) => c.excluded);
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label="Table of candidates">
      <Table fz="sm" verticalSpacing={4} horizontalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            {["#", "Model", "Provider"].map((word) => (
              <Table.Th key={word}>{word}</Table.Th>
            ))}
            {["Score", "Quality", "Cost", "Speed", "Expected cost", "Expected"].map((word) => (
              <Table.Th key={word} ta="right" className={classes.nowrap}>
                {word}
              </Table.Th>
            ))}
            <Table.Th>Result</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {eligible.map((c) => (
            <Eligible key={c.target} candidate={c} attempts={attempts} />
          ))}
          {excluded.map((c) => (
            <Table.Tr key={c.target} c="dimmed">
              <Table.Td>–</Table.Td>
              <Table.Td className={classes.nowrap}>{c.model}</Table.Td>
              <Table.Td>{c.provider}</Table.Td>
              <Table.Td colSpan={7}>
                <Tooltip label={c.excluded?.code}>
                  <span>
                    <Icon name="ban" size={12} /> excluded: {c.excluded?.reason}
                  </span>
                </Tooltip>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Eligible({ candidate: c, attempts }: { candidate: Candidate; attempts: Schema["AttemptView"][] }) {
  const chosen = c.rank === 1;
  return (
    <Table.Tr fw={chosen ? 600 : undefined}>
      <Table.Td>{c.rank}</Table.Td>
      <Table.Td className={classes.nowrap}>{c.model}</Table.Td>
      <Table.Td>{c.provider}</Table.Td>
      <Number value={c.score} />
      <Number value={c.quality} />
      <Number value={c.cost} />
      <Number value={c.speed} />
      <Table.Td ta="right">
        <Money amount={c.expected_cost_usd} paid />
      </Table.Td>
      <Table.Td ta="right" ff="monospace" className={classes.nowrap}>
        {formatDuration(c.expected_ms || null)}
      </Table.Td>
      <Table.Td className={classes.nowrap}>
        <Text size="xs" c="dimmed">
          {markOf(c, attempts)}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}

/** Says what became of a candidate: served, failed, chosen, or not needed. */
function markOf(c: Candidate, attempts: Schema["AttemptView"][]): string {
  const own = attempts.filter((attempt) => attempt.model === c.model && attempt.provider === c.provider);
  if (own.some((attempt) => attempt.class === null)) {
    return c.rank === 1 ? "chosen, served" : "took over";
  }
  if (own.length > 0) {
    return c.rank === 1 ? "chosen, failed" : "tried, failed";
  }
  if (c.rank === 1) {
    return "chosen";
  }
  const answered = attempts.some((attempt) => attempt.class === null);
  return attempts.length === 0 ? "" : answered ? "not needed" : "not tried";
}

function Number({ value }: { value: number }) {
  return (
    <Table.Td ta="right" ff="monospace">
      {value.toFixed(3)}
    </Table.Td>
  );
}

function Choice({ trace }: { trace: Decision }) {
  const first = trace.candidates.find((c) => c.rank === 1);
  return (
    <Text size="sm">
      {first ? (
        <>
          <strong>{first.target}</strong> with a score of {first.score.toFixed(3)}
          {trace.runner_up && (
            <>
              , {(trace.margin ?? 0).toFixed(3)} ahead of <strong>{trace.runner_up}</strong>
            </>
          )}
          .
        </>
      ) : (
        "No candidate was left."
      )}
      {trace.baseline && (
        <>
          {" "}
          Baseline: <strong>{trace.baseline.model}</strong> (
          {baselineWords[trace.baseline.source] ?? trace.baseline.source}).
        </>
      )}
    </Text>
  );
}

/** Who named the baseline, in words. */
export const baselineWords: Record<string, string> = {
  caller: "the model that the caller named",
  header: "named by the request’s header",
  policy: "named by a policy",
  key: "the key’s",
  default: "the default model",
  priciest: "the priciest eligible candidate",
};
