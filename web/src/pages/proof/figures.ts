import type { Schema } from "../../api/client";
import { formatMoney, parseNano } from "../../lib/money";
import { plural } from "../../lib/numbers";

type Estimate = Schema["Estimate"];
type Proof = Schema["Proof"];

/** The number of comparisons below which no figure is reported. */
export const minSamples = 50;

/** Formats a difference from -1 to 1 in percentage points with its sign: −0.4, +1.2, 0.0. */
export function formatPoints(difference: number): string {
  const text = Math.abs(100 * difference).toFixed(1);
  if (Number(text) === 0) {
    return "0.0";
  }
  return `${difference < 0 ? "−" : "+"}${text}`;
}

/** Formats the bounds of an interval: −1.0 to +0.2. */
export function formatInterval({ low, high }: Estimate): string {
  return `${formatPoints(low)} to ${formatPoints(high)}`;
}

/** Formats a share from 0 to 1 with its interval: 4.2 % (3.1 – 5.6 %). */
export function formatShare({ value, low, high }: Estimate): string {
  const percent = (share: number) => (100 * share).toFixed(1);
  return `${percent(value)} % (${percent(low)} – ${percent(high)} %)`;
}

/** Describes an interval in words: whether the routed responses are better or worse than the baseline. */
export function verdict(estimate: Estimate): string {
  if (estimate.high < 0) {
    return "Worse than the baseline";
  }
  if (estimate.low > 0) {
    return "Better than the baseline";
  }
  return "No difference found";
}

/** The state of the measurement in words, for a group without figures. */
export function missingText(samples: number): string {
  return samples === 0 ? "No comparisons yet" : `${plural(samples, "comparison")} of ${minSamples} needed`;
}

/** The result of a period in one sentence. */
export function headline({ savings, quality, against: chosen }: Proof): string {
  const saved =
    savings.compared === 0
      ? "No requests with a known baseline."
      : `Saved ${formatMoney(savings.saved_usd)} of ${formatMoney(savings.baseline_cost_usd)}${chosen ? ` against ${chosen.model}` : ""}.`;
  if (!quality) {
    return `${saved} Quality is not measured.`;
  }
  if (!quality.difference) {
    return `${saved} Quality: ${missingText(quality.samples).toLowerCase()}.`;
  }
  const against = quality.baselines[0] ? ` against ${quality.baselines[0]}` : "";
  return (
    `${saved} Quality difference ${formatPoints(quality.difference.value)} points${against} ` +
    `(95 % interval ${formatInterval(quality.difference)}), measured on ${plural(quality.samples, "comparison")}.`
  );
}

/** How the savings against a chosen model were computed, and which of them are not exact. */
export function againstNotes({ against, requests, quality }: Proof): string[] {
  if (!against) {
    return [];
  }
  const { model, logged } = against;
  const notes = [
    `Computed from the recorded tokens of ${plural(logged, "logged request")} at the prices that ${model} had at the time of each request.`,
  ];
  if (!against.complete) {
    notes.push(
      `Only the newest requests were read, since ${new Date(against.from).toISOString().slice(0, 16).replace("T", " ")} UTC. Choose a shorter period for complete figures.`,
    );
  } else if (logged < 0.99 * requests) {
    // Roll-ups count whole hours, so small differences have no meaning.
    notes.push(
      `The period had ${plural(requests, "request")}; those that are missing here were deleted from the log.`,
    );
  }
  if (against.cache_unknown > 0) {
    notes.push(
      `The cost of ${plural(against.cache_unknown, "request")} is an estimate: it is unknown which part of the prompt ${model} would have cached. They are priced with the recorded cached tokens.`,
    );
  }
  if (against.current_prices > 0) {
    notes.push(
      `${plural(against.current_prices, "request")} priced with the current price history, because the price list in effect at the time was deleted.`,
    );
  }
  if (against.unpriced > 0) {
    notes.push(`${plural(against.unpriced, "request")} not compared: no price or no token counts.`);
  }
  if (against.other_kind > 0) {
    notes.push(
      `${plural(against.other_kind, "request")} not compared: ${model} does not serve this kind of request.`,
    );
  }
  if (quality && quality.baselines.some((name) => name !== model)) {
    notes.push(`The quality difference is measured against ${quality.baselines.join(", ")}.`);
  }
  return notes;
}

/** The savings after the cost of the comparison, as a decimal string of dollars; null if that cost is unknown. */
export function netSaved(saved: string, cost: string | null): string | null {
  if (cost === null) {
    return null;
  }
  const nano = parseNano(saved) - parseNano(cost);
  const digits = (nano < 0n ? -nano : nano).toString().padStart(10, "0");
  return `${nano < 0n ? "-" : ""}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

/** A month in the statement menu. */
export interface Month {
  /** Such as 2026-11. */
  value: string;
  /** Such as November 2026. */
  label: string;
}

/** The newest months in UTC, the current one first. */
export function newestMonths(now: Date, count: number): Month[] {
  return Array.from({ length: count }, (_, i) => {
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - i, 1));
    return {
      value: start.toISOString().slice(0, 7),
      label: start.toLocaleString("en-US", { month: "long", year: "numeric", timeZone: "UTC" }),
    };
  });
}

/** One day of the interval chart, in pixels. */
export interface PlotPoint {
  day: string;
  x: number;
  value: number;
  low: number;
  high: number;
}

/** The geometry of the interval chart. */
export interface Plot {
  points: PlotPoint[];
  /** Height of zero. */
  zero: number;
  /** Labelled values of the vertical axis. */
  ticks: { y: number; label: string }[];
}

/** Places the days with figures on a plot of the given size. The vertical range is symmetric, at least ±1 point. */
export function plotOf(days: Schema["QualityPoint"][], width: number, height: number): Plot {
  const known = days.flatMap(({ day, difference }) => (difference ? [{ day, difference }] : []));
  const most = Math.max(
    0.01,
    ...known.map(({ difference: d }) => Math.max(Math.abs(d.low), Math.abs(d.high))),
  );
  const y = (value: number) => height / 2 - (value / most) * (height / 2);
  const times = known.map(({ day }) => Date.parse(day));
  const first = Math.min(...times);
  const span = Math.max(...times) - first;
  return {
    points: known.map(({ day, difference: d }) => ({
      day,
      x: span > 0 ? ((Date.parse(day) - first) / span) * width : width / 2,
      value: y(d.value),
      low: y(d.low),
      high: y(d.high),
    })),
    zero: y(0),
    ticks: [most, most / 2, 0, -most / 2, -most].map((value) => ({
      y: y(value),
      label: formatPoints(value),
    })),
  };
}

/** The path of the area between the bounds. */
export function bandPath(points: PlotPoint[]): string {
  const upper = points.map(({ x, high }) => `${x} ${high}`);
  const lower = [...points].reverse().map(({ x, low }) => `${x} ${low}`);
  return points.length === 0 ? "" : `M${[...upper, ...lower].join("L")}Z`;
}

/** The path of the estimates. */
export function linePath(points: PlotPoint[]): string {
  return points.length === 0 ? "" : `M${points.map(({ x, value }) => `${x} ${value}`).join("L")}`;
}
