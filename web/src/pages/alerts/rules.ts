import type { Schema } from "../../api/client";
import type { AlertKind, AlertRule } from "./query";

/** The fields of the rule form. */
export interface RuleDraft {
  name: string;
  kind: string;
  threshold: number | "";
  window: string;
  key: string;
  channels: string[];
}

/** The draft of an existing rule, or of a new rule of a kind. */
export function ruleDraft(kind: AlertKind | undefined, rule?: AlertRule): RuleDraft {
  return {
    name: rule?.name ?? "",
    kind: rule?.kind ?? kind?.kind ?? "",
    threshold: rule?.threshold ?? kind?.threshold ?? "",
    window: rule?.window ?? kind?.windows[0] ?? "",
    key: rule?.key_id ?? "",
    channels: rule?.channels ?? [],
  };
}

/** The draft after another kind was chosen: the name and the channels stay. */
export function withKind(draft: RuleDraft, kind: AlertKind): RuleDraft {
  const next = ruleDraft(kind);
  return { ...next, name: draft.name, channels: draft.channels, key: kind.per_key ? draft.key : "" };
}

/** The body that creates a rule; undefined while the draft is incomplete. */
export function ruleBody(draft: RuleDraft): Schema["CreateAlertRuleInputBody"] | undefined {
  if (draft.kind === "" || draft.threshold === "") {
    return undefined;
  }
  return {
    kind: draft.kind as Schema["CreateAlertRuleInputBody"]["kind"],
    name: draft.name.trim() || undefined,
    threshold: draft.threshold,
    window: draft.window || undefined,
    key_id: draft.key || undefined,
    channels: draft.channels,
  };
}

const suffixes: Record<string, string> = {
  percent: " %",
  ms: " ms",
  points: " points",
  days: " days",
};

/** The text before and after a number with the unit. */
export function unitAffixes(unit: string): { prefix?: string; suffix?: string } {
  return unit === "usd" ? { prefix: "$" } : { suffix: suffixes[unit] };
}

/** The bound of a rule: "≥ 5 %". */
export function boundText(rule: Pick<AlertRule, "threshold" | "unit" | "kind">, kinds: AlertKind[]): string {
  const below = kinds.find((kind) => kind.kind === rule.kind)?.below ?? rule.threshold < 0;
  const { prefix = "", suffix = "" } = unitAffixes(rule.unit);
  return `${below ? "<" : "≥"} ${prefix}${rule.threshold.toLocaleString("en")}${suffix}`;
}

const windows: Record<string, string> = {
  "5m": "Last 5 minutes",
  "15m": "Last 15 minutes",
  "1h": "Last hour",
  "6h": "Last 6 hours",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  day: "Today (UTC)",
  week: "This week (UTC)",
  month: "This month (UTC)",
};

/** Describes a window. */
export function windowText(window: string | null | undefined): string {
  return window ? (windows[window] ?? window) : "—";
}

/** Explains when a rule of a kind fires. */
export const kindHelp: Record<string, string> = {
  spend: "Fires when the cost in the period reaches the threshold.",
  budget: "Fires when this share of the workspace budget or of a key’s budget is used.",
  forecast:
    "Fires when spending at the current rate would use this share of a budget by the end of its period.",
  error_rate: "Fires when this share of requests fails. Needs at least 20 requests.",
  latency_p95: "Fires when 5 % of requests take at least this long. Needs at least 20 requests.",
  fallback_rate: "Fires when a fallback serves at least this share of requests. Needs at least 20 requests.",
  requests:
    "Fires when the period has fewer requests than this. A new rule is first evaluated after one full period.",
  key_expiry: "Fires when an API key expires within this time.",
  savings: "Fires when less than this share of the baseline cost is saved.",
  quality:
    "Fires when the measured quality difference is worse than the threshold with 95 % confidence. Needs at least 50 comparisons.",
  quality_risk:
    "Fires when the lower bound of the measured quality difference is below the threshold. Needs at least 50 comparisons.",
  open_circuits: "Fires when at least this many targets of the gateway are paused (circuit open).",
  spool: "Fires when this share of the queue for database writes is used.",
} satisfies Record<Schema["CreateAlertRuleInputBody"]["kind"], string>;

/** How long a rule can be muted, in hours. */
export const muteSpans = [
  { hours: 1, label: "1 hour" },
  { hours: 8, label: "8 hours" },
  { hours: 24, label: "1 day" },
  { hours: 168, label: "1 week" },
];

/** The time that is the given number of hours from now. */
export function muteUntil(hours: number, now = new Date()): string {
  return new Date(now.getTime() + hours * 3_600_000).toISOString();
}
