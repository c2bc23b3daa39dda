import type { BudgetDetail } from "./query";

/** One point of the burn-down chart, in dollars. */
export interface BurnPoint {
  /** Milliseconds since 1970. */
  at: number;
  spent?: number;
  pace?: number;
  expected?: number;
  range?: [number, number];
}

/**
 * The points of the burn-down chart, in order of time. The even pace spends the amount evenly until the reset. A
 * budget that never resets has no even pace.
 */
export function burnPoints(budget: BudgetDetail): BurnPoint[] {
  const points = new Map<number, BurnPoint>();
  const at = (iso: string) => {
    const ms = Date.parse(iso);
    const known = points.get(ms) ?? { at: ms };
    points.set(ms, known);
    return known;
  };
  for (const point of budget.curve) {
    at(point.at).spent = Number(point.spent_usd);
  }
  for (const point of budget.expected) {
    const one = at(point.at);
    one.expected = Number(point.expected_usd);
    one.range = [Number(point.low_usd), Number(point.high_usd)];
  }
  if (budget.starts_at && budget.resets_at) {
    at(budget.starts_at);
    at(budget.resets_at);
    const start = Date.parse(budget.starts_at);
    const span = Date.parse(budget.resets_at) - start;
    for (const point of points.values()) {
      point.pace = (Number(budget.amount_usd) * Math.min(Math.max(point.at - start, 0), span)) / span;
    }
  }
  return [...points.values()].sort((a, b) => a.at - b.at);
}

/** The top of the chart: a little above the budget and the forecast, at most twice the larger of them. */
export function chartTop(points: BurnPoint[], amount: number): number {
  const line = Math.max(amount, ...points.map((p) => Math.max(p.spent ?? 0, p.expected ?? 0)));
  const high = Math.max(...points.map((p) => p.range?.[1] ?? 0), line);
  return Math.min(high, 2 * line) * 1.05;
}

const hourMs = 3_600_000;
const maxPoints = 120;

/**
 * The points at even distances, a whole number of hours apart in periods of five days or more, with values interpolated between
 * the given points.
 */
export function evenPoints(points: BurnPoint[]): { points: BurnPoint[]; stepMs: number } {
  const first = points[0]?.at ?? 0;
  const span = (points.at(-1)?.at ?? 0) - first;
  const fine = span / maxPoints;
  const stepMs =
    fine < hourMs ? Math.max(60_000, Math.ceil(fine / 60_000) * 60_000) : Math.ceil(fine / hourMs) * hourMs;
  const even: BurnPoint[] = [];
  for (let at = first; at <= first + span; at += stepMs) {
    const low = interpolated(points, at, (p) => p.range?.[0]);
    const high = interpolated(points, at, (p) => p.range?.[1]);
    even.push({
      at,
      spent: interpolated(points, at, (p) => p.spent),
      pace: interpolated(points, at, (p) => p.pace),
      expected: interpolated(points, at, (p) => p.expected),
      range: low === undefined || high === undefined ? undefined : [low, high],
    });
  }
  return { points: even, stepMs };
}

/** A value at a time, on the straight line between the nearest points that have it. Undefined before the first and after the last. */
function interpolated(
  points: BurnPoint[],
  at: number,
  valueOf: (point: BurnPoint) => number | undefined,
): number | undefined {
  const known = points.filter((p) => valueOf(p) !== undefined);
  const before = known.findLast((p) => p.at <= at);
  const after = known.find((p) => p.at >= at);
  if (!before || !after) {
    return undefined;
  }
  const from = valueOf(before) ?? 0;
  const to = valueOf(after) ?? 0;
  return after.at === before.at ? from : from + ((to - from) * (at - before.at)) / (after.at - before.at);
}
