import type { Schema } from "../../api/client";
import type { Filters, Search } from "../../lib/filters";
import { parseNano, unknown } from "../../lib/money";
import { formatCount, formatPercent } from "../../lib/numbers";
import type { Range } from "../../lib/range";

/** Totals of a set of requests. */
export type Figures = Schema["FigureSet"];

/** The dimensions of the breakdown, which are also filters. */
export const dimensions = ["model", "provider", "key", "policy"] as const;

/** One dimension of the breakdown. */
export type Dimension = (typeof dimensions)[number];

/** The filters that apply to figures. */
export function figureFilters(filters: Filters): Filters {
  const { model, provider, key, policy } = filters;
  return { model, provider, key, policy };
}

/** The URL parameter for simulated requests. */
export type Simulated = "include" | "true" | "false" | undefined;

/** Extracts the parameter; an unknown value counts as the default. */
export function simulatedOf(search: Search): Simulated {
  const { simulated } = search;
  return simulated === "include" || simulated === "true" || simulated === "false" ? simulated : undefined;
}

/**
 * The API filter: simulated requests are excluded, unless the URL includes them or the simulator is the only provider.
 */
export function simulatedFilter(chosen: Simulated, onlySimulator: boolean): "true" | "false" | undefined {
  if (chosen === "true" || chosen === "false") {
    return chosen;
  }
  return chosen === "include" || onlySimulator ? undefined : "false";
}

/** The API filter for the source: Playground requests are excluded by default. */
export function sourceOf(search: Search): "key" | "playground" | undefined {
  if (search.source === "all") {
    return undefined;
  }
  return search.source === "playground" ? "playground" : "key";
}

/** The search parameters that list exactly the requests of a figure. */
export function requestsSearch(filters: Filters, range: Range, more: Filters = {}): Search {
  return { ...filters, ...more, from: range.from, to: range.to };
}

/** Shown if the log does not cover the whole previous period. */
export const incompleteText = "Previous period incomplete";

/**
 * Describes the change from the previous period; undefined when both are zero. An incomplete previous period is not
 * compared.
 */
export function changeText(
  now: string | number,
  before: string | number,
  complete: boolean,
): string | undefined {
  const [a, b] = [asNumber(now), asNumber(before)];
  if (!complete) {
    return a === 0 && b === 0 ? undefined : incompleteText;
  }
  if (b === 0) {
    return a === 0 ? undefined : "None in the previous period";
  }
  const percent = Math.round(((a - b) / b) * 100);
  if (percent === 0) {
    return "Same as previous";
  }
  // Large percentages are hard to read.
  const text =
    percent >= 1000
      ? `×${formatCount(a / b)}`
      : `${percent > 0 ? "+" : "−"}${formatCount(Math.abs(percent))} %`;
  return `${text} vs previous`;
}

function asNumber(value: string | number): number {
  return typeof value === "number" ? value : Number(parseNano(value)) / 1e9;
}

/** Formats a request rate in a unit that gives a readable number: "1.5 / s", "12 / min". */
export function rateText(requests: number, spanMs: number): string {
  if (spanMs <= 0) {
    return "";
  }
  const units: [number, string][] = [
    [1000, "s"],
    [60_000, "min"],
    [3_600_000, "h"],
  ];
  for (const [ms, name] of units) {
    const rate = (requests * ms) / spanMs;
    if (rate >= 1 || name === "h") {
      return `${rate >= 100 ? formatCount(rate) : rate.toFixed(1).replace(/\.0$/, "")} / ${name}`;
    }
  }
  return "";
}

/** Describes the share of requests with a known baseline. */
export function coverageText({ compared, served }: Figures): string {
  if (compared >= served) {
    return "Baseline known for all served requests";
  }
  return `Baseline known for ${knownShare(compared, served)} of served requests`;
}

/** Formats a partial share, which never rounds to 100 %. */
export function knownShare(part: number, whole: number): string {
  return formatPercent(Math.min(99.9, (100 * part) / whole));
}

/** The number of requests that are in no row of a breakdown, which lists only the top rows. */
export function unlisted(rows: Schema["FigureGroup"][], requests: number): number {
  return Math.max(0, requests - rows.reduce((sum, row) => sum + row.requests, 0));
}

/**
 * Formats the failures of a breakdown row. For a model or provider, it is the share of attempts, because an attempt can
 * fail without the request failing. For a key or policy, or without attempts, it is the share of requests.
 */
export function failureText(group: Schema["FigureGroup"], dimension: Dimension): string {
  const [failed, all, unit] = hasAttempts(group, dimension)
    ? [group.failed_attempts, group.attempts, "attempts"]
    : [group.errors, group.requests, "requests"];
  if (all === 0) {
    return unknown;
  }
  return `${formatPercent((100 * failed) / all)} of ${formatCount(all)} ${all === 1 ? unit.slice(0, -1) : unit}`;
}

/** The failure share of a row, for sorting; null without attempts or requests. */
export function failureShare(group: Schema["FigureGroup"], dimension: Dimension): number | null {
  const [failed, all] = hasAttempts(group, dimension)
    ? [group.failed_attempts, group.attempts]
    : [group.errors, group.requests];
  return all === 0 ? null : failed / all;
}

function hasAttempts(group: Schema["FigureGroup"], dimension: Dimension): boolean {
  return (dimension === "model" || dimension === "provider") && group.attempts > 0;
}

/** Converts the rows of the breakdown to facets for the filter bar. */
export function facetsOf(breakdowns: Schema["Breakdowns"]): Schema["Facets"] {
  const values = (groups: Schema["FigureGroup"][]) =>
    groups.filter((g) => g.name !== "").map((g) => ({ value: g.name, label: g.label, count: g.requests }));
  return {
    decision: [],
    outcome: [],
    model: values(breakdowns.model),
    provider: values(breakdowns.provider),
    key: values(breakdowns.key),
    policy: values(breakdowns.policy),
  };
}
