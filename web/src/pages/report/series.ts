import type { Schema } from "../../api/client";
import type { Fill } from "../../components/charts/patterns";
import { amountOf, type Measure, valueLabel } from "./report";

export type ReportSeries = Schema["ReportSeries"];

/** The number of groups with a colour of their own. */
export const seriesGroups = 3;

/** Appearance of a part of the bars. */
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

/** Latencies and negative amounts cannot be stacked. */
function isStacked({ bins }: ReportSeries, measure: Measure): boolean {
  return (
    measure !== "latency" &&
    bins.every((bin) => [bin.total, ...bin.groups].every((figures) => amountOf(measure, figures) >= 0))
  );
}

/** The parts of the bars: the groups and the other values, or one part for bars that are not stacked. */
export function looksOf(series: ReportSeries, measure: Measure, by: string): Look[] {
  if (!isStacked(series, measure) || series.groups.length === 0) {
    return [{ label: "All requests", fill: "solid", colour: "var(--fl-spend)" }];
  }
  const looks: Look[] = series.groups
    .slice(0, seriesGroups)
    .map((group, i) => ({ label: valueLabel(by, group), group: i, ...(colours[i] ?? other) }));
  const rest = series.bins.some(
    (bin) => restOf(bin, measure) > Math.abs(amountOf(measure, bin.total)) * 1e-9,
  );
  return rest ? [...looks, { label: "Other values", ...other }] : looks;
}

function restOf(bin: ReportSeries["bins"][number], measure: Measure): number {
  return bin.groups
    .slice(0, seriesGroups)
    .reduce((left, figures) => left - amountOf(measure, figures), amountOf(measure, bin.total));
}

/** A part of a bar, with the index of its look. */
export interface Part {
  look: number;
  from: number;
  to: number;
}

/** The bars of a series whose parts have the given number of looks. Empty parts are left out. */
export function barsOf(series: ReportSeries, measure: Measure, looks: number): Part[][] {
  const stacked = isStacked(series, measure) && series.groups.length > 0;
  return series.bins.map((bin) => {
    if (!stacked) {
      const to = amountOf(measure, bin.total);
      return to === 0 ? [] : [{ look: 0, from: 0, to }];
    }
    const amounts = bin.groups.slice(0, seriesGroups).map((figures) => amountOf(measure, figures));
    if (looks > amounts.length) {
      amounts.push(restOf(bin, measure));
    }
    let from = 0;
    return amounts.flatMap((amount, look) => {
      const part = { look, from, to: from + Math.max(0, amount) };
      from = part.to;
      return part.to > part.from ? [part] : [];
    });
  });
}
