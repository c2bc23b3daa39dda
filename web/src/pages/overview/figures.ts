import type { Schema } from "../../api/client";
import type { Filters, Search } from "../../lib/filters";
import { parseNano, unknown } from "../../lib/money";
import { formatCount, formatPercent } from "../../lib/numbers";
import type { Range } from "../../lib/range";

/** Sums over requests. */
export type Figures = Schema["FigureSet"];

/** The dimensions of the breakdown, which are filters too. */
export const dimensions = ["model", "provider", "key", "policy"] as const;

/** One dimension of the breakdown. */
export type Dimension = (typeof dimensions)[number];

/** The filters that figures can be narrowed by. */
export function figureFilters(filters: Filters): Filters {
  const { model, provider, key, policy } = filters;
  return { model, provider, key, policy };
}

/** What the address says about simulated requests. */
export type Simulated = "include" | "true" | "false" | undefined;

/** Reads the parameter; what is not one of its values is the default. */
export function simulatedOf(search: Search): Simulated {
  const { simulated } = search;
  return simulated === "include" || simulated === "true" || simulated === "false" ? simulated : undefined;
}

/** The filter for the API: simulated requests are left out unless there are no others or they are asked for. */
export function simulatedFilter(chosen: Simulated, onlySimulator: boolean): "true" | "false" | undefined {
  if (chosen === "true" || chosen === "false") {
    return chosen;
  }
  return chosen === "include" || onlySimulator ? undefined : "false";
}

/** The source of the requests that figures count: those of the Playground are left out unless they are asked for. */
export function sourceOf(search: Search): "key" | "playground" | undefined {
  if (search.source === "all") {
    return undefined;
  }
  return search.source === "playground" ? "playground" : "key";
}

/** The parameters of Requests that list exactly what a figure counts. */
export function requestsSearch(filters: Filters, range: Range, more: Filters = {}): Search {
  return { ...filters, ...more, from: range.from, to: range.to };
}

/**
 * The change of an amount or number against the period before, in words; undefined when neither had any. A period in
 * which recording began is not compared.
 */
export function changeText(
  now: string | number,
  before: string | number,
  complete: boolean,
): string | undefined {
  const [a, b] = [asNumber(now), asNumber(before)];
  if (b === 0) {
    return a === 0 ? undefined : "none in the period before";
  }
  if (!complete) {
    return "no full previous period";
  }
  const percent = Math.round(((a - b) / b) * 100);
  if (percent === 0) {
    return "same as the period before";
  }
  // From ten times on, percents are hard to read.
  const text =
    percent >= 1000
      ? `×${formatCount(a / b)}`
      : `${percent > 0 ? "+" : "−"}${formatCount(Math.abs(percent))} %`;
  return `${text} vs previous`;
}

function asNumber(value: string | number): number {
  return typeof value === "number" ? value : Number(parseNano(value)) / 1e9;
}

/** How many requests came in a unit of time that gives a readable number: "1.5 / s", "12 / min". */
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

/** How many of the requests the savings cover. */
export function coverageText({ compared, served }: Figures): string {
  if (compared >= served) {
    return "baseline known for all served requests";
  }
  return `baseline known for ${knownShare(compared, served)} of served requests`;
}

/** A share that is not all: rounding must not claim that it is. */
export function knownShare(part: number, whole: number): string {
  return formatPercent(Math.min(99.9, (100 * part) / whole));
}

/** How many requests no row of a breakdown counts: it lists only those with the most. */
export function unlisted(rows: Schema["FigureGroup"][], requests: number): number {
  return Math.max(0, requests - rows.reduce((sum, row) => sum + row.requests, 0));
}

/**
 * The failures of one row of a breakdown with what they are a share of: attempts for a model or provider, which may have
 * failed without serving a request, and requests for a key or policy. Figures of earlier versions have no attempts.
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

/** The share of failures that a row is sorted by; null when it has none of what it is a share of. */
export function failureShare(group: Schema["FigureGroup"], dimension: Dimension): number | null {
  const [failed, all] = hasAttempts(group, dimension)
    ? [group.failed_attempts, group.attempts]
    : [group.errors, group.requests];
  return all === 0 ? null : failed / all;
}

function hasAttempts(group: Schema["FigureGroup"], dimension: Dimension): boolean {
  return (dimension === "model" || dimension === "provider") && group.attempts > 0;
}

/** The filter values that the breakdown shows, as the filter bar wants them. */
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
