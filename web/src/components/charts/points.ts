import type { Schema } from "../../api/client";
import { nanoText, parseNano } from "../../lib/money";
import type { Range } from "../../lib/range";

/** A time bucket with its figures. */
export type Bin = Schema["FigureBin"];

/** One point of the spend chart. A band is a pair: its lower and its upper edge. */
export interface SpendPoint {
  at: string;
  /** Undefined for the bucket that is still running, and in percent without a baseline. */
  spend?: number;
  baseline?: number;
  saved?: [number, number];
  extra?: [number, number];
  /** Spend of the running bucket. The bucket before it also has this value, because the dashed line begins there. */
  running?: number;
  bin: Bin;
}

/** Reports whether a bucket ends after the end of the series, which means that it is still incomplete. */
export function isRunning(bin: { start: string }, stepMs: number, end: string): boolean {
  return Date.parse(bin.start) + stepMs > Date.parse(end);
}

/**
 * Computes the points of the spend chart. The upper line is spend plus saved: requests without a known baseline count
 * the same on both lines, so the band between them equals the total saved. In percent, the baseline of each bucket is
 * 100; a bucket without a baseline has no point.
 */
export function spendPoints(series: Bin[], running?: string, percent?: boolean): SpendPoint[] {
  return series.map((bin, i) => {
    const dollars = Number(nanoText(parseNano(bin.cost_usd) + parseNano(bin.saved_usd)));
    if (percent && dollars <= 0) {
      return { at: bin.start, bin };
    }
    const unit = percent ? 100 / dollars : 1;
    const spend = Number(bin.cost_usd) * unit;
    const baseline = percent ? 100 : dollars;
    if (bin.start === running) {
      return { at: bin.start, running: spend, bin };
    }
    return {
      at: bin.start,
      spend,
      baseline,
      saved: [spend, Math.max(spend, baseline)],
      extra: [Math.min(spend, baseline), spend],
      ...(series[i + 1]?.start === running && running !== undefined && { running: spend }),
      bin,
    };
  });
}

/** Reports whether any bucket cost more than its baseline. */
export function hasExtra(series: Bin[]): boolean {
  return series.some((bin) => bin.saved_usd.startsWith("-"));
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;

/**
 * The width of the buckets: the distance between the first two, or the requested width when there is only one. A day of 23 or
 * 25 hours counts as a day.
 */
export function stepOf(series: Bin[], requested: number): number {
  const [first, second] = series;
  const step = first && second ? Date.parse(second.start) - Date.parse(first.start) : requested;
  return Math.abs(step - dayMs) <= hourMs ? dayMs : step;
}

/**
 * The range from the start of one bucket to the end of another, in either order. A bucket ends where the next one begins,
 * because days with a daylight-saving change are longer or shorter.
 */
export function spanRange(a: string, b: string, stepMs: number, series: { start: string }[] = []): Range {
  const [low, high] = [Date.parse(a), Date.parse(b)].sort((x, y) => x - y) as [number, number];
  const after = series.map((bin) => Date.parse(bin.start)).find((start) => start > high);
  return { from: new Date(low).toISOString(), to: new Date(after ?? high + stepMs).toISOString() };
}

const units: [number, string][] = [
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "K"],
];

/** Formats a number for an axis: 950, 1.2K, 1.35K, 3M. Two decimals, so that quarters of a round number are exact. */
export function axisCount(n: number): string {
  for (const [size, unit] of units) {
    if (Math.abs(n) >= size) {
      return `${trim((n / size).toFixed(2))}${unit}`;
    }
  }
  return trim(n.toFixed(1));
}

/** Formats an amount for an axis: $12, $0.5, $0.0003. */
export function axisMoney(n: number): string {
  if (n === 0) {
    return "$0";
  }
  const sign = n < 0 ? "−" : "";
  const size = Math.abs(n);
  if (size >= 1000) {
    return `${sign}$${axisCount(size)}`;
  }
  const decimals = size >= 1 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(size)));
  return `${sign}$${trim(size.toFixed(decimals))}`;
}

function trim(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
