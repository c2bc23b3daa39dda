import { Group, Stack, Text } from "@mantine/core";

import type { Schema } from "../../../api/client";
import { Icon } from "../../../components/Icon";
import { Money } from "../../../components/Money";
import { formatBytes, formatDuration, formatMicros } from "../../../lib/numbers";
import classes from "./detail.module.css";

type Attempt = Schema["AttemptView"];

/** The attempts in time: one bar each, split into connecting, waiting for the first token, and the answer. */
export function Attempts({ request }: { request: Schema["RequestDetail"] }) {
  const { attempts } = request;
  if (attempts.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No provider was called.
      </Text>
    );
  }
  const ends = attempts.map((attempt) => attempt.start_ms + attempt.duration_ms);
  const span = Math.max(1, request.latency_ms ?? 0, ...ends);
  return (
    <Stack gap="sm">
      <Text size="xs" c="dimmed">
        Of {formatDuration(request.latency_ms)}, {formatMicros(request.overhead_us)} were the gateway’s own.
      </Text>
      {attempts.map((attempt, i) => (
        <AttemptRow key={i} attempt={attempt} span={span} number={i + 1} alone={attempts.length === 1} />
      ))}
    </Stack>
  );
}

interface RowProps {
  attempt: Attempt;
  span: number;
  number: number;
  alone: boolean;
}

function AttemptRow({ attempt, span, number, alone }: RowProps) {
  const failed = attempt.class !== null;
  return (
    <div>
      <Group gap="xs" mb={4} justify="space-between">
        <Group gap={6}>
          <Icon name={failed ? "alert" : "check"} size={14} />
          <Text size="sm">
            {!alone && `${number}. `}
            <strong>{attempt.model}</strong> on {attempt.provider}
            {attempt.upstream !== attempt.model && ` (${attempt.upstream})`}
          </Text>
          <Text size="sm" c="dimmed">
            {attempt.hedge && "asked besides · "}
            {failed ? attempt.class : "served"}
            {attempt.status !== null && ` · status ${attempt.status}`}
          </Text>
        </Group>
        <Text size="xs" c="dimmed" ff="monospace">
          {formatDuration(attempt.duration_ms)}
          {attempt.bytes > 0 && ` · ${formatBytes(attempt.bytes)}`} ·{" "}
          <Money
            amount={attempt.cost_usd}
            paid
            why={failed ? "Nothing is known to have been charged: the attempt failed." : undefined}
          />
        </Text>
      </Group>
      <Bar attempt={attempt} span={span} />
      <Parts attempt={attempt} />
      {attempt.message && (
        <Text size="xs" mt={2} c="red">
          {attempt.message}
        </Text>
      )}
    </div>
  );
}

/** The moments that split an attempt, from its start. */
function splits(attempt: Attempt) {
  const connect = attempt.connect_ms ?? 0;
  const first = attempt.first_token_ms ?? attempt.headers_ms ?? attempt.duration_ms;
  return { connect, first: Math.max(connect, first), end: Math.max(first, attempt.duration_ms) };
}

function Bar({ attempt, span }: { attempt: Attempt; span: number }) {
  const { connect, first, end } = splits(attempt);
  const failed = attempt.class !== null;
  const part = (from: number, to: number, className?: string) =>
    (to > from || (failed && to === end)) && (
      <div
        className={`${classes.part} ${className}`}
        style={{
          left: `${(100 * (attempt.start_ms + from)) / span}%`,
          width: `${(100 * (to - from)) / span}%`,
        }}
      />
    );
  return (
    <div className={classes.track} aria-hidden>
      {part(0, connect, classes.connect)}
      {part(connect, first, failed ? classes.failed : classes.wait)}
      {part(first, end, failed ? classes.failed : classes.stream)}
    </div>
  );
}

function Parts({ attempt }: { attempt: Attempt }) {
  const { connect, first, end } = splits(attempt);
  const words = [
    `started at ${formatDuration(attempt.start_ms)}`,
    attempt.connect_ms !== null && `connect ${formatDuration(connect)}`,
    attempt.first_token_ms !== null && `first token ${formatDuration(first - connect)}`,
    attempt.first_token_ms !== null && `answer ${formatDuration(end - first)}`,
    attempt.retry_after_ms !== null && `asked to wait ${formatDuration(attempt.retry_after_ms)}`,
    attempt.credential && `credential ${attempt.credential}`,
  ];
  return (
    <Text size="xs" c="dimmed">
      {words.filter(Boolean).join(" · ")}
    </Text>
  );
}
