import { Group, Stack, Text } from "@mantine/core";

import type { Schema } from "../../../api/client";
import { Icon } from "../../../components/Icon";
import { Money } from "../../../components/Money";
import { formatMoney } from "../../../lib/money";
import { formatBytes, formatDuration, formatMicros } from "../../../lib/numbers";
import classes from "./detail.module.css";
import { ticksOf, timingOf } from "./timing";

type Attempt = Schema["AttemptView"];

/** A waterfall of the attempts: one bar each, split into waiting, connecting, time to first token and streaming. */
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
      <Group justify="space-between" gap="xs">
        <TimingSummary request={request} />
        <Legend />
      </Group>
      <Axis span={span} />
      {attempts.map((attempt, i) => (
        <AttemptRow
          key={i}
          attempt={attempt}
          wait={attempt.wait_ms}
          span={span}
          number={i + 1}
          single={attempts.length === 1}
        />
      ))}
    </Stack>
  );
}

/** The total latency and its parts: "Total 599 ms · gateway 425 µs · waiting 440 ms · provider 159 ms". */
function TimingSummary({ request }: { request: Schema["RequestDetail"] }) {
  const timing = timingOf(request);
  if (!timing) {
    return null;
  }
  const { total, gateway, waiting, provider } = timing;
  const parts = [
    `Total ${formatDuration(total)}`,
    `gateway ${formatMicros(Math.round(gateway * 1000))}`,
    waiting > 0 && `waiting ${formatDuration(Math.round(waiting))}`,
    `provider ${formatDuration(Math.round(provider))}`,
  ];
  return (
    <Text size="xs" c="dimmed">
      {parts.filter(Boolean).join(" · ")}
    </Text>
  );
}

const phases: { word: string; className?: string }[] = [
  { word: "Waiting", className: classes.between },
  { word: "Connect", className: classes.connect },
  { word: "First token", className: classes.wait },
  { word: "Stream", className: classes.stream },
  { word: "Failed", className: classes.failed },
];

function Legend() {
  return (
    <Group gap="sm">
      {phases.map(({ word, className }) => (
        <Text key={word} size="xs" c="dimmed" component="span">
          <span className={`${classes.swatch} ${className}`} aria-hidden /> {word}
        </Text>
      ))}
    </Group>
  );
}

/** The time scale of the waterfall. */
function Axis({ span }: { span: number }) {
  return (
    <div className={classes.axis} aria-hidden>
      {ticksOf(span).map((ms) => (
        <span key={ms} style={{ left: `${(100 * ms) / span}%` }}>
          {formatDuration(ms)}
        </span>
      ))}
    </div>
  );
}

interface RowProps {
  attempt: Attempt;
  /** Milliseconds spent waiting directly before the attempt. */
  wait: number;
  span: number;
  number: number;
  single: boolean;
}

function AttemptRow({ attempt, wait, span, number, single }: RowProps) {
  const failed = attempt.class !== null;
  return (
    <div>
      <Group gap="xs" mb={4} justify="space-between">
        <Group gap={6}>
          <Icon name={failed ? "alert" : "check"} size={14} />
          <Text size="sm">
            {!single && `${number}. `}
            <strong>{attempt.model}</strong> on {attempt.provider}
            {attempt.upstream !== attempt.model && ` (${attempt.upstream})`}
          </Text>
          <Text size="sm" c="dimmed">
            {failed ? attempt.class?.replaceAll("_", " ") : "served"}
            {attempt.status !== null && ` · status ${attempt.status}`}
          </Text>
        </Group>
        <Text size="xs" c="dimmed" ff="monospace">
          {formatDuration(attempt.duration_ms)}
          {attempt.bytes > 0 && ` · ${formatBytes(attempt.bytes)}`} ·{" "}
          <Money
            amount={attempt.cost_usd}
            paid
            why={failed ? "No known charge: the attempt failed." : undefined}
          />
        </Text>
      </Group>
      <Bar attempt={attempt} wait={wait} span={span} />
      <Parts attempt={attempt} wait={wait} />
      <CacheUse attempt={attempt} />
      {attempt.message && (
        <Text size="xs" mt={2} c="red">
          {attempt.message}
        </Text>
      )}
    </div>
  );
}

/** The end of each phase of an attempt, from its start. */
function splits(attempt: Attempt) {
  const connect = attempt.connect_ms ?? 0;
  const first = attempt.first_token_ms ?? attempt.headers_ms ?? attempt.duration_ms;
  return { connect, first: Math.max(connect, first), end: Math.max(first, attempt.duration_ms) };
}

function Bar({ attempt, wait, span }: Pick<RowProps, "attempt" | "wait" | "span">) {
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
      {wait > 0 && part(-wait, 0, classes.between)}
      {part(0, connect, classes.connect)}
      {part(connect, first, failed ? classes.failed : classes.wait)}
      {part(first, end, failed ? classes.failed : classes.stream)}
    </div>
  );
}

function Parts({ attempt, wait }: Pick<RowProps, "attempt" | "wait">) {
  const { connect, first, end } = splits(attempt);
  const parts = [
    wait > 0 && `waited ${formatDuration(wait)}`,
    attempt.budget_wait_ms > 0 && `${formatDuration(attempt.budget_wait_ms)} of it for the budget`,
    `started at ${formatDuration(attempt.start_ms)}`,
    attempt.connect_ms !== null && `connect ${formatDuration(connect)}`,
    attempt.first_token_ms !== null && `first token ${formatDuration(first - connect)}`,
    attempt.first_token_ms !== null && `stream ${formatDuration(end - first)}`,
    attempt.retry_after_ms !== null && `retry after ${formatDuration(attempt.retry_after_ms)}`,
    attempt.credential && `credential ${attempt.credential}`,
  ];
  return (
    <Text size="xs" c="dimmed">
      {parts.filter(Boolean).join(" · ")}
    </Text>
  );
}

const lifetimes: Record<string, string> = { "5m": "5 minutes", "1h": "1 hour" };

/** The prompt-cache marker and key that were set for an attempt, and the amount that the marker saved. */
function CacheUse({ attempt }: { attempt: Attempt }) {
  const { cache_mark: mark, cache_key: key, cache_saved_usd: saved } = attempt;
  const parts = [
    mark && `prompt-cache marker set for ${lifetimes[mark] ?? mark}`,
    saved &&
      (saved.startsWith("-") ? `write cost ${formatMoney(saved.slice(1))}` : `saved ${formatMoney(saved)}`),
    key && `prompt_cache_key ${key}`,
  ].filter(Boolean);
  if (parts.length === 0) {
    return null;
  }
  return (
    <Text size="xs" c="dimmed">
      {parts.join(" · ")}
    </Text>
  );
}
