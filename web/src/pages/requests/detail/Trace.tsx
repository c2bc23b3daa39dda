import { Badge, Group, List, Stack, Text, Title, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";

import type { Schema } from "../../../api/client";
import { Icon } from "../../../components/Icon";
import { formatCount, formatMicros } from "../../../lib/numbers";
import { Candidates } from "./Candidates";
import classes from "./detail.module.css";
import { Differs } from "./Differs";
import { adjustmentLabels, baselineLabels, featuresOf, hitDiffers } from "./trace";

type Decision = Schema["Decision"];

interface Props {
  trace: Decision;
  attempts?: Schema["AttemptView"][];
  /** Another decision on the same request; differences are marked. */
  against?: Decision;
  /** Name of the decision, if there are several. */
  name?: string;
}

/** The steps of a decision in order: features, policies, candidates, choice. */
export function Trace({ trace, attempts = [], against, name }: Props) {
  return (
    <Stack gap="md">
      {trace.because && <Text fw={500}>{trace.because}</Text>}
      <TraceStep number={1} title="Features">
        <Features input={trace.input} />
      </TraceStep>
      <TraceStep number={2} title="Policies">
        <Policies hits={trace.policies} against={against?.policies} />
      </TraceStep>
      <TraceStep number={3} title="Candidates">
        <Candidates trace={trace} attempts={attempts} against={against} name={name} />
      </TraceStep>
      <TraceStep number={4} title="Choice">
        <Choice trace={trace} />
      </TraceStep>
      <Versions trace={trace} />
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
  return (
    <Group gap="xs">
      {featuresOf(input).map(({ name, value, hint }) => {
        const badge = (
          <Badge
            key={name}
            color="gray"
            radius="sm"
            size="lg"
            fw={400}
            className={classes.feature}
            tabIndex={hint ? 0 : undefined}
          >
            {name}: <strong>{value}</strong>
          </Badge>
        );
        return hint ? (
          <Tooltip key={name} label={hint}>
            {badge}
          </Tooltip>
        ) : (
          badge
        );
      })}
    </Group>
  );
}

function Policies({ hits, against }: { hits: Schema["PolicyHit"][]; against?: Schema["PolicyHit"][] }) {
  if (hits.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No policies. The router chose by quality and cost only.
      </Text>
    );
  }
  return (
    <List size="sm" spacing={4} center icon={null}>
      {hits.map((hit, i) => (
        <List.Item
          key={i}
          icon={<Icon name={hit.matched ? "check" : "skip"} size={14} />}
          className={hitDiffers(hit, against) ? classes.differs : undefined}
          style={{ overflowWrap: "anywhere" }}
        >
          <strong>{hit.name}</strong>
          {hit.source === "instance" && " (global)"} {hit.matched ? "matched" : "skipped"}
          {hit.effect && `: ${hit.effect}`}
          {hit.reason && ` – ${hit.reason}`}
          {hitDiffers(hit, against) && <Differs />}
        </List.Item>
      ))}
    </List>
  );
}

function Choice({ trace }: { trace: Decision }) {
  const first = trace.candidates.find((c) => c.rank === 1);
  return (
    <Stack gap={4}>
      <Text size="sm">
        {first ? (
          <>
            <strong>{first.target}</strong>.
          </>
        ) : (
          "No eligible candidate."
        )}
        {trace.baseline && (
          <>
            {" "}
            Baseline: <strong>{trace.baseline.model}</strong> (
            {baselineLabels[trace.baseline.source] ?? trace.baseline.source}).
          </>
        )}
      </Text>
      <Remarks trace={trace} />
    </Stack>
  );
}

/** Why the choice differs from that for the request alone. */
function Remarks({ trace }: { trace: Decision }) {
  const remarks: ReactNode[] = [];
  if (trace.policy) {
    remarks.push(
      <>
        Policy <strong>{trace.policy}</strong> {trace.alone ? "changed the choice" : "made the choice"}
        {trace.alone && (
          <>
            . Without it: <strong>{trace.alone}</strong>
          </>
        )}
        .
      </>,
    );
  }
  for (const { code, reason } of trace.adjustments ?? []) {
    remarks.push(
      <>
        {adjustmentLabels[code] ?? code}: {reason}.
      </>,
    );
  }
  if (trace.stay) {
    remarks.push(
      <>
        Kept the current model <strong>{trace.stay.target}</strong> instead of{" "}
        <strong>{trace.stay.alternative}</strong>.
      </>,
    );
  }
  if (trace.max_output) {
    remarks.push(<>A policy limits the output to {formatCount(trace.max_output)} tokens.</>);
  }
  if (trace.omit_bodies) {
    remarks.push(<>A policy disables storing prompts and responses.</>);
  }
  return remarks.map((remark, i) => (
    <Text key={i} size="sm">
      {remark}
    </Text>
  ));
}

function Versions({ trace: { micros, versions } }: { trace: Decision }) {
  const labels = [
    ["router", versions.router],
    ["predictor", versions.predictor],
    ["catalog", versions.catalog],
    ["policies", versions.policy],
    ["ratings", versions.feedback],
  ].flatMap(([name, version]) => (version ? [`${name} ${version}`] : []));
  return (
    <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
      Decided in {formatMicros(micros)} · {labels.join(" · ")}
    </Text>
  );
}
