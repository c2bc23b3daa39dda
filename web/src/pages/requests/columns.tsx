import { Text, Tooltip } from "@mantine/core";

import type { Schema } from "../../api/client";
import { CachedBadge, DecisionBadge, EscalatedBadge, OutcomeBadge } from "../../components/badges";
import { Money } from "../../components/Money";
import { Redacted } from "../../components/Redacted";
import { Time } from "../../components/Time";
import { Tokens } from "../../components/Tokens";
import { formatMoney, unknown } from "../../lib/money";
import { formatChange, formatCount, formatLatency, plural } from "../../lib/numbers";
import { cacheText } from "./cacheText";
import classes from "./RequestTable.module.css";
import type { Sort } from "./sort";

type Row = Schema["RequestRow"];

/** A column of the request list. */
export interface RequestColumn {
  id: string;
  label: string;
  /** Name in the column picker, if not the heading. */
  name?: string;
  /** Explanation of the column, shown on hover. */
  hint?: string;
  /** Width in pixels; the prompt gets the free width. */
  width: number;
  /** Whether the column is right-aligned and monospaced. */
  numeric?: boolean;
  /** The order in which the API can list requests by this column. */
  sort?: Sort;
  /** Whether the column is shown by default. */
  byDefault?: boolean;
  /** Column names in exports. */
  exported: string[];
  render: (row: Row) => React.ReactNode;
}

/** The id of the column with the link to the request. It is always shown. */
export const promptColumn = "request";

/** Minimum width of the prompt in pixels. */
export const minPromptWidth = 260;

/** All columns, in the default order. */
export const requestColumns: RequestColumn[] = [
  {
    id: promptColumn,
    label: "Prompt",
    width: 0,
    byDefault: true,
    exported: ["endpoint", "preview"],
    render: (r) => <Prompt row={r} />,
  },
  {
    id: "model",
    label: "Model",
    hint: "Selected model and its provider",
    width: 170,
    byDefault: true,
    exported: ["model", "requested_model", "provider"],
    render: (r) => <Selected row={r} />,
  },
  {
    id: "tokens",
    label: "In / out",
    name: "Tokens in / out",
    hint: "Input and output tokens",
    width: 104,
    byDefault: true,
    numeric: true,
    sort: "tokens",
    exported: [
      "input_tokens",
      "cache_read_tokens",
      "cache_write_tokens",
      "output_tokens",
      "reasoning_tokens",
    ],
    render: (r) => (used(r.tokens) ? <Tokens tokens={r.tokens} single /> : unknown),
  },
  {
    id: "cost",
    label: "Cost",
    name: "Estimated cost",
    width: 94,
    byDefault: true,
    numeric: true,
    sort: "cost",
    exported: ["cost_usd"],
    render: (r) => <Cost row={r} />,
  },
  {
    id: "saved",
    label: "Saved",
    name: "Cost vs baseline",
    hint: "Cost compared with the baseline model, at list prices for the same tokens",
    width: 60,
    byDefault: true,
    numeric: true,
    exported: ["baseline_model", "baseline_cost_usd", "saved_usd"],
    render: (r) => <Saved row={r} />,
  },
  {
    id: "latency",
    label: "Latency",
    width: 78,
    byDefault: true,
    numeric: true,
    sort: "latency",
    exported: ["latency_ms", "ttft_ms"],
    render: (r) => formatLatency(r.latency_ms),
  },
  {
    id: "key",
    label: "Key",
    width: 94,
    byDefault: true,
    exported: ["key_name", "key_id", "source"],
    render: (r) => truncated(r.key_name ?? sourceLabel(r)),
  },
  {
    id: "time",
    label: "Time",
    width: 90,
    byDefault: true,
    numeric: true,
    sort: "time",
    exported: ["time"],
    render: (r) => <Time at={r.time} as="brief" />,
  },
  {
    id: "ttft",
    label: "First token",
    name: "Time to first token",
    width: 88,
    numeric: true,
    exported: ["ttft_ms"],
    render: (r) => formatLatency(r.stream ? r.ttft_ms : null),
  },
  {
    id: "outcome",
    label: "Outcome",
    width: 124,
    exported: ["outcome", "status"],
    render: (r) => <Outcome row={r} />,
  },
  {
    id: "decision",
    label: "Decision",
    width: 96,
    exported: ["decision", "policy", "fallback_reason"],
    render: (r) => (
      <DecisionBadge decision={r.state === "running" ? undefined : r.decision} detail={decisionDetail(r)} />
    ),
  },
  {
    id: "provider",
    label: "Provider",
    width: 90,
    exported: ["provider"],
    render: (r) => truncated(r.provider),
  },
  {
    id: "requested",
    label: "Requested",
    name: "Requested model",
    width: 140,
    exported: ["requested_model"],
    render: (r) => truncated(r.requested_model),
  },
  {
    id: "endpoint",
    label: "Endpoint",
    width: 130,
    exported: ["endpoint"],
    render: (r) => truncated(`${r.endpoint}${r.stream ? " (stream)" : ""}`),
  },
  {
    id: "attempts",
    label: "Attempts",
    width: 74,
    numeric: true,
    exported: ["attempt_count"],
    render: (r) => formatCount(r.attempt_count),
  },
  {
    id: "finish",
    label: "Finish reason",
    width: 100,
    exported: ["finish_reason"],
    render: (r) => truncated(r.finish_reason),
  },
  {
    id: "cache",
    label: "Cache",
    name: "Response cache",
    width: 80,
    exported: ["cache", "cache_saved_usd"],
    render: (r) => truncated(r.cache),
  },
  { id: "tags", label: "Tags", width: 160, exported: ["tags"], render: (r) => truncated(formatTags(r.tags)) },
  { id: "session", label: "Session", width: 120, exported: ["session"], render: (r) => truncated(r.session) },
  { id: "user", label: "End user", width: 120, exported: ["end_user"], render: (r) => truncated(r.end_user) },
  { id: "client", label: "Client", width: 140, exported: ["client"], render: (r) => truncated(r.client) },
  { id: "ip", label: "IP", width: 110, exported: ["ip"], render: (r) => truncated(r.ip) },
  {
    id: "error",
    label: "Error",
    width: 160,
    exported: ["error_code", "error_message"],
    render: (r) => truncated(r.error?.code),
  },
  {
    id: "id",
    label: "ID",
    width: 236,
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

/**
 * The columns with these ids, in the order of the ids. Unknown ids, saved by other versions, are skipped. The prompt is
 * always included.
 */
export function chosenColumns(ids: string[]): RequestColumn[] {
  const all = ids.includes(promptColumn) ? ids : [promptColumn, ...ids];
  const chosen = [...new Set(all)].flatMap((id) => requestColumns.filter((column) => column.id === id));
  return chosen.length > 1 ? chosen : chosenColumns(defaultColumns);
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

/** Badges for anything unusual about a request. A request that was served as expected has none. */
export function Badges({ row }: { row: Row }) {
  const running = row.state === "running";
  const unusual = row.decision === "fallback" || row.decision === "policy";
  return (
    <>
      {(running || row.outcome !== "ok") && <Outcome row={row} />}
      {!running && unusual && <DecisionBadge decision={row.decision} detail={decisionDetail(row)} />}
      {row.escalated && <EscalatedBadge detail={row.escalated} />}
      {row.cache_use?.status === "hit" && <CachedBadge detail={cacheText(row.cache_use)} />}
    </>
  );
}

/** The start of the prompt, or the endpoint if the prompt is not stored. */
export function PromptText({ row }: { row: Row }) {
  if (!row.preview) {
    return (
      <Text span inherit c="dimmed">
        {row.endpoint.replace("chat/completions", "chat")} · prompt not available
      </Text>
    );
  }
  return <Redacted text={row.preview} />;
}

function Prompt({ row }: { row: Row }) {
  return (
    <span className={classes.promptText} title={row.preview || undefined}>
      <PromptText row={row} />
    </span>
  );
}

/** The selected model with its provider. */
function Selected({ row }: { row: Row }) {
  const on = row.provider ? ` on ${row.provider}` : "";
  const requested = row.model !== row.requested_model ? `, requested as ${row.requested_model}` : "";
  return (
    <span title={`${row.model ?? "not served"}${on}${requested}`}>
      <Served row={row} />
      <Text span inherit c="dimmed">
        {row.simulated ? " · SIMULATED" : row.provider ? ` · ${row.provider}` : ` · ${row.requested_model}`}
      </Text>
    </span>
  );
}

/** The name of the model that served a request. */
export function Served({ row }: { row: Row }) {
  if (row.model) {
    return row.model;
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

/** The cost of a request, or why it is unknown. */
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
