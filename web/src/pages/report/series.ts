import type { Schema } from "../../api/client";
import type { Fill } from "../../components/charts/patterns";
import { amountOf, type Measure, valueLabel } from "./report";

export type ReportSeries = Schema["ReportSeries"];

/** The number of groups with a separate colour. */
export const seriesGroups = 3;

/** Appearance of one part of the stacked bars: a group, or all other values together. */
export interface Look {
  label: string;
  fill: Fill;
  colour: string;
  /** Index of the group; undefined for other values and for bars without parts. */
  group?: number;
}

/** Colours and patterns from the bottom of a bar to its top. Their colours are those of the spend chart, which palette.ts checks. */
const colours: { fill: Fill; colour: string }[] = [
  { fill: "solid", colour: "var(--fl-spend)" },
  { fill: "hatched", colour: "var(--fl-saved)" },
  { fill: "crossed", colour: "var(--fl-extra)" },
];
const other = { fill: "dotted", colour: "var(--fl-baseline)" } as const;

/** Reports whether the bars are stacked. Latencies and negative amounts cannot be stacked. */
function isStacked({ bins }: ReportSeries, measure: Measure): boolean {
  return (
    measure !== "latency" &&
    bins.every((bin) => [bin.total, ...bin.groups].every((figures) => amountOf(measure, figures) >= 0))
  );
}

/** The parts of the bars: the groups and the other values with an amount, or one part for bars that are not stacked. */
export function looksOf(series: ReportSeries, measure: Measure, by: string): Look[] {
  if (!isStacked(series, measure) || series.groups.length === 0) {
    return [{ label: "All requests", fill: "solid", colour: "var(--fl-spend)" }];
  }
  const looks: Look[] = series.groups
    .slice(0, seriesGroups)
    .map((group, i) => ({ label: valueLabel(by, group), group: i, ...(colours[i] ?? other) }));
  return [...looks, { label: "Other values", ...other }].filter((look) =>
    series.bins.some((bin) => amountIn(bin, measure, look) > 0),
  );
}

/** The amount of a part of a stacked bar. */
function amountIn(bin: ReportSeries["bins"][number], measure: Measure, { group }: Look): number {
  const amounts = bin.groups.slice(0, seriesGroups).map((figures) => amountOf(measure, figures));
  if (group !== undefined) {
    return amounts[group] ?? 0;
  }
  const total = amountOf(measure, bin.total);
  const rest = amounts.reduce((left, amount) => left - amount, total);
  return rest > total * 1e-9 ? rest : 0; // ignore the rounding error of the subtraction
}

/** A part of a bar, with the index of its look. */
export interface Part {
  look: number;
  from: number;
  to: number;
}

/** The bars of a series with the parts of looksOf. Empty parts are omitted. */
export function barsOf(series: ReportSeries, measure: Measure, looks: Look[]): Part[][] {
  const stacked = isStacked(series, measure) && series.groups.length > 0;
  return series.bins.map((bin) => {
    let from = 0;
    return looks.flatMap((look, i) => {
      const amount = stacked ? amountIn(bin, measure, look) : amountOf(measure, bin.total);
      const part = { look: i, from, to: from + amount };
      from = part.to;
      return amount === 0 ? [] : [part];
    });
  });
}
