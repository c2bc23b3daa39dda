import { Group, Text, Tooltip } from "@mantine/core";

import type { Schema } from "../../api/client";
import { DecisionBadge, OutcomeBadge } from "../../components/badges";
import type { Column } from "../../components/DataTable";
import { Duration } from "../../components/Duration";
import { Money } from "../../components/Money";
import { Redacted } from "../../components/Redacted";
import { Time } from "../../components/Time";
import { Tokens } from "../../components/Tokens";
import { formatMoney, unknown } from "../../lib/money";
import { formatChange, formatCount, plural } from "../../lib/numbers";

type Row = Schema["RequestRow"];

/** A column of the request list. */
export interface RequestColumn extends Column<Row> {
  /** Name in the column picker, if not the heading. */
  name?: string;
  /** Shown by default. */
  byDefault?: boolean;
  /** Column names in exports. */
  exported: string[];
}

/** All columns, in the default order. */
export const requestColumns: RequestColumn[] = [
  {
    id: "time",
    label: "Time",
    byDefault: true,
    exported: ["time"],
    render: (r) => <Time at={r.time} as="stack" />,
  },
  {
    id: "outcome",
    label: "Outcome",
    byDefault: true,
    exported: ["outcome", "status"],
    render: (r) => <Outcome row={r} />,
  },
  {
    id: "request",
    label: "Request",
    byDefault: true,
    exported: ["endpoint", "preview"],
    maxWidth: 124,
    render: (r) => <Preview row={r} />,
  },
  {
    id: "model",
    label: "Model",
    hint: "Selected model, with the requested model below",
    byDefault: true,
    exported: ["model", "requested_model"],
    maxWidth: 136,
    render: (r) => <Selected row={r} />,
  },
  {
    id: "provider",
    label: "Provider",
    byDefault: true,
    exported: ["provider"],
    maxWidth: 70,
    render: (r) => truncated(r.provider),
  },
  {
    id: "decision",
    label: "Decision",
    byDefault: true,
    exported: ["decision", "policy", "fallback_reason"],
    render: (r) => (
      <DecisionBadge decision={r.state === "running" ? undefined : r.decision} detail={decisionDetail(r)} />
    ),
  },
  {
    id: "tokens",
    label: "In / out",
    name: "Tokens in / out",
    hint: "Input and output tokens, with the cached share of the input below",
    byDefault: true,
    numeric: true,
    exported: [
      "input_tokens",
      "cache_read_tokens",
      "cache_write_tokens",
      "output_tokens",
      "reasoning_tokens",
    ],
    render: (r) => (used(r.tokens) ? <Tokens tokens={r.tokens} /> : unknown),
  },
  {
    id: "cost",
    label: "Cost",
    name: "Estimated cost",
    byDefault: true,
    numeric: true,
    exported: ["cost_usd"],
    render: (r) => <Cost row={r} />,
  },
  {
    id: "saved",
    label: "vs baseline",
    name: "Cost vs baseline",
    hint: "Cost compared with the baseline model, at list prices for the same tokens",
    byDefault: true,
    numeric: true,
    exported: ["baseline_model", "baseline_cost_usd", "saved_usd"],
    render: (r) => <Saved row={r} />,
  },
  {
    id: "latency",
    label: "Latency",
    hint: "Total latency, with the time to first token below",
    byDefault: true,
    numeric: true,
    exported: ["latency_ms", "ttft_ms"],
    render: (r) => <Duration ms={r.latency_ms} ttft={r.stream ? r.ttft_ms : null} />,
  },
  {
    id: "key",
    label: "Key",
    byDefault: true,
    exported: ["key_name", "key_id", "source"],
    maxWidth: 100,
    render: (r) => truncated(r.key_name ?? sourceLabel(r)),
  },
  {
    id: "requested",
    label: "Requested",
    name: "Requested model",
    exported: ["requested_model"],
    maxWidth: 140,
    render: (r) => truncated(r.requested_model),
  },
  {
    id: "attempts",
    label: "Attempts",
    numeric: true,
    exported: ["attempt_count"],
    render: (r) => formatCount(r.attempt_count),
  },
  {
    id: "finish",
    label: "Finish reason",
    exported: ["finish_reason"],
    render: (r) => r.finish_reason ?? unknown,
  },
  {
    id: "tags",
    label: "Tags",
    exported: ["tags"],
    maxWidth: 160,
    render: (r) => truncated(formatTags(r.tags)),
  },
  {
    id: "session",
    label: "Session",
    exported: ["session"],
    maxWidth: 120,
    render: (r) => truncated(r.session),
  },
  {
    id: "user",
    label: "End user",
    exported: ["end_user"],
    maxWidth: 120,
    render: (r) => truncated(r.end_user),
  },
  { id: "client", label: "Client", exported: ["client"], maxWidth: 160, render: (r) => truncated(r.client) },
  { id: "ip", label: "IP", exported: ["ip"], render: (r) => r.ip || unknown },
  {
    id: "error",
    label: "Error",
    exported: ["error_code", "error_message"],
    maxWidth: 180,
    render: (r) => truncated(r.error?.code),
  },
  {
    id: "id",
    label: "ID",
    exported: ["id"],
    render: (r) => (
      <Text span inherit ff="monospace">
        {r.id}
      </Text>
    ),
  },
];

/** The ids of the default columns. */
export const defaultColumns = requestColumns.filter((column) => column.byDefault).map((column) => column.id);

/** The columns with these ids, in the order of the ids. Unknown ids, saved by older versions, are skipped. */
export function chosenColumns(ids: string[]): RequestColumn[] {
  const chosen = ids.flatMap((id) => requestColumns.filter((column) => column.id === id));
  return chosen.length > 0 ? chosen : chosenColumns(defaultColumns);
}

function used(tokens: Schema["Tokens"]): boolean {
  return tokens.input + tokens.cache_read + tokens.cache_write + tokens.output > 0;
}

function truncated(text: string | null | undefined) {
  return text ? <span title={text}>{text}</span> : unknown;
}

function sourceLabel(row: Row): string | null {
  return row.source === "playground" ? "playground" : null;
}

function formatTags(tags: Row["tags"]): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

function Outcome({ row }: { row: Row }) {
  const detail = row.error && `${row.status ?? ""} ${row.error.code}: ${row.error.message}`.trim();
  return <OutcomeBadge outcome={row.state === "running" ? "running" : row.outcome} detail={detail} />;
}

function Preview({ row }: { row: Row }) {
  const endpoint = row.endpoint.replace("chat/completions", "chat");
  return (
    <span title={row.preview || row.endpoint}>
      <Text span fz="0.9em" c="dimmed">
        {row.simulated && "SIMULATED · "}
        {endpoint}
        {row.stream && " · stream"}
      </Text>
      {row.preview && (
        <Text component="span" display="block" inherit truncate>
          <Redacted text={row.preview} />
        </Text>
      )}
    </span>
  );
}

/** The selected model, with the requested model below if it differs. */
function Selected({ row }: { row: Row }) {
  const requested = row.model !== row.requested_model && row.requested_model;
  return (
    <span
      title={requested ? `${row.model ?? "not served"}, requested as ${requested}` : (row.model ?? undefined)}
    >
      <Served row={row} />
      {requested && (
        <Text component="span" display="block" fz="0.9em" c="dimmed" truncate>
          {requested}
        </Text>
      )}
    </span>
  );
}

function Served({ row }: { row: Row }) {
  if (row.model) {
    return (
      <Text span inherit fw={600}>
        {row.model}
      </Text>
    );
  }
  return (
    <Text span inherit c="dimmed">
      {row.state === "running" ? "routing…" : "not served"}
    </Text>
  );
}

/** Explains a decision: the policy, or the reason of a fallback. */
export function decisionDetail(row: Row): string | undefined {
  const policy = row.policy ? `Policy ${row.policy}. ` : "";
  if (row.decision === "fallback") {
    const reason = row.fallback_reason ?? "the first choice failed or was unavailable";
    return `${policy}Fallback: ${reason} (${plural(row.attempt_count, "attempt")}).`;
  }
  return policy || undefined;
}

function Cost({ row }: { row: Row }) {
  if (row.state === "running") {
    return unknown;
  }
  const why = row.attempt_count === 0 ? "No model was called." : "Unknown cost: this model has no price.";
  return <Money amount={row.cost_usd} paid why={why} />;
}

function Saved({ row }: { row: Row }) {
  const text = formatChange(row.saved_percent);
  const label = row.baseline_model
    ? `Baseline ${row.baseline_model}: ${formatMoney(row.baseline_cost_usd)}. Saved: ${formatMoney(row.saved_usd)}.`
    : "No baseline for this request.";
  return (
    <Tooltip label={label}>
      <Text span inherit ff="monospace" c={savedColour(row.saved_percent)}>
        {text}
      </Text>
    </Tooltip>
  );
}

function savedColour(percent: number | null): string | undefined {
  if (percent === null || Math.round(percent) === 0) {
    return "dimmed";
  }
  return percent > 0 ? "green" : "red";
}

/** The two lines of a request on a narrow screen. */
export function phoneLines(row: Row) {
  return {
    top: (
      <>
        <Group gap="xs" wrap="nowrap">
          <Time at={row.time} />
          {row.outcome === "ok" ? <DecisionBadge decision={row.decision} /> : <Outcome row={row} />}
        </Group>
        <Cost row={row} />
      </>
    ),
    bottom: (
      <>
        <Group gap={4} wrap="nowrap" miw={0}>
          <Text size="sm" truncate>
            <Served row={row} />
            {!row.model && ` · ${row.requested_model}`}
            {row.simulated && " · SIMULATED"}
          </Text>
        </Group>
        <Duration ms={row.latency_ms} />
      </>
    ),
  };
}
