import type { Schema } from "../../api/client";
import type { Search } from "../../lib/filters";
import { formatMoney } from "../../lib/money";
import { formatCount, formatDuration } from "../../lib/numbers";
import { type Range, rangeOf } from "../../lib/range";
import { stringifySearch } from "../../lib/search";
import { storedText } from "../../lib/stored";

export type Report = Schema["Report"];
export type Figures = Schema["ReportFigures"];
export type Value = Schema["ReportValue"];
export type Measure = Report["measure"];
/** The figures that measures are computed from. */
type MeasuredFigures = Schema["ReportBinFigures"];

/** The dimensions other than tags, with their display names. */
export const dimensions = [
  { value: "model", label: "Model" },
  { value: "provider", label: "Provider" },
  { value: "key", label: "API key" },
  { value: "policy", label: "Policy" },
  { value: "member", label: "Member" },
  { value: "user", label: "End user" },
  { value: "session", label: "Session" },
  { value: "client", label: "Client" },
] as const;

/** The measures with their display names. */
export const measures: { value: Measure; label: string }[] = [
  { value: "spend", label: "Spend" },
  { value: "savings", label: "Savings" },
  { value: "requests", label: "Requests" },
  { value: "latency", label: "Latency" },
  { value: "errors", label: "Errors" },
];

/** The filters of the report, as parameters of the URL. */
export const filterParameters = [
  "model",
  "provider",
  "policy",
  "key",
  "user",
  "session",
  "client",
  "tag",
] as const;

/** The selection in the URL of the page. */
export interface Selection {
  range: Range;
  by: string;
  then: string | undefined;
  measure: Measure;
  filters: Partial<Record<(typeof filterParameters)[number], string>>;
  /** "include" shows simulated requests, too. */
  simulated: string | undefined;
  source: string | undefined;
}

export function selectionOf(search: Search): Selection {
  const filters: Selection["filters"] = {};
  for (const name of filterParameters) {
    const value = search[name];
    if (value) {
      filters[name] = value;
    }
  }
  const by = search["by"] || "model";
  return {
    range: rangeOf(search),
    by,
    then: search["then"] && search["then"] !== by ? search["then"] : undefined,
    measure: measures.find(({ value }) => value === search["measure"])?.value ?? "spend",
    filters,
    simulated: search["simulated"],
    source: search["source"],
  };
}

/** The parameters of the API for a selection. */
export function parametersOf(s: Selection, onlySimulator: boolean) {
  const source: "key" | "all" = s.source === "all" ? "all" : "key";
  return {
    ...s.range,
    by: s.by,
    then: s.then,
    measure: s.measure,
    ...s.filters,
    simulated: s.simulated === "include" || onlySimulator ? undefined : "false",
    source,
  };
}

/** The URL that exports a report, with up to 500 groups on each level. */
export function exportUrl(query: ReturnType<typeof parametersOf>): string {
  return `/api/v1/report/export${stringifySearch({ ...query, limit: 500, workspace: storedText("workspace") })}`;
}

/** The display name of a dimension. */
export function dimensionLabel(dimension: string): string {
  const known = dimensions.find(({ value }) => value === dimension);
  return known?.label ?? `Tag “${dimension.replace(/^tag:/, "")}”`;
}

const unnamed: Record<string, string> = {
  model: "not served",
  provider: "not served",
  key: "dashboard",
  policy: "no policy",
  member: "unknown member",
  user: "no end user",
  session: "no session",
  client: "unknown client",
};

/** The display name of a dimension value. */
export function valueLabel(dimension: string, value: Pick<Value, "value" | "label">): string {
  return value.value === "" ? (unnamed[dimension] ?? "no tag") : value.label;
}

/** The measure as a number, for the length of a bar. Amounts may be negative. */
export function amountOf(measure: Measure, f: MeasuredFigures): number {
  switch (measure) {
    case "savings":
      return Number(f.saved_usd);
    case "requests":
      return f.requests;
    case "latency":
      return f.latency_p95_ms ?? 0;
    case "errors":
      return f.errors;
    default:
      return Number(f.cost_usd);
  }
}

/** The measure as text. */
export function measureText(measure: Measure, f: MeasuredFigures): string {
  switch (measure) {
    case "savings":
      return formatMoney(f.compared > 0 ? f.saved_usd : null);
    case "requests":
      return formatCount(f.requests);
    case "latency":
      return formatDuration(f.latency_p95_ms);
    case "errors":
      return formatCount(f.errors);
    default:
      return formatMoney(f.priced > 0 ? f.cost_usd : null);
  }
}

/** One row of the table: a group, a group of the second level, or the rest. */
export interface Row {
  id: string;
  label: string;
  level: 0 | 1;
  figures: Figures;
  /** The request list with the requests of the row; undefined if it cannot select them. */
  search?: Search;
  total?: boolean;
}

/** The request list with the requests of a selection. */
export function listSearch(s: Selection, onlySimulator: boolean): Search {
  const { simulated, source } = parametersOf(s, onlySimulator);
  return { ...s.range, ...s.filters, simulated, source };
}

/** The rows of a report, in order. */
export function rowsOf(report: Report, s: Selection, onlySimulator: boolean): Row[] {
  const base = listSearch(s, onlySimulator);
  const rows: Row[] = [];
  for (const group of report.groups) {
    rows.push({
      id: `g:${group.value}`,
      label: valueLabel(report.by, group),
      level: 0,
      figures: group,
      search: group.filter ? { ...base, ...group.filter } : undefined,
    });
    for (const inner of group.groups) {
      const both = joined(report, group.filter, inner.filter);
      rows.push({
        id: `g:${group.value}:${inner.value}`,
        label: valueLabel(report.then, inner),
        level: 1,
        figures: inner,
        search: both && { ...base, ...both },
      });
    }
    if (group.rest) {
      rows.push({ id: `r:${group.value}`, label: "Other values", level: 1, figures: group.rest });
    }
  }
  if (report.rest) {
    rows.push({ id: "rest", label: "Other values", level: 0, figures: report.rest });
  }
  if (report.uncovered) {
    rows.push({ id: "uncovered", label: "Not grouped", level: 0, figures: report.uncovered });
  }
  rows.push({ id: "total", label: "Total", level: 0, figures: report.total, search: base, total: true });
  return rows;
}

type Filter = Value["filter"];

/** The filter of both levels; undefined if the request list cannot combine them. */
export function joined(report: Report, outer: Filter, inner: Filter): Search | undefined {
  if (!outer || !inner) {
    return undefined;
  }
  if (outer["tag"] && inner["tag"]) {
    return undefined; // the list selects requests with any of the tags
  }
  // A member is selected as a list of keys, so a key on the other level is narrower and takes precedence.
  return report.then === "member" ? { ...inner, ...outer } : { ...outer, ...inner };
}
