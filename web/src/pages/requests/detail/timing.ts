import type { Schema } from "../../../api/client";

type Attempt = Pick<Schema["AttemptView"], "start_ms" | "duration_ms">;

/** The part of a request that its timing is computed from. */
export interface Timed {
  latency_ms: number | null;
  overhead_us: number | null;
  wait_ms: number | null;
  attempts: Attempt[];
}

/** The duration of each part of a request, in milliseconds. The parts add up to the total. */
export interface Timing {
  total: number;
  gateway: number;
  waiting: number;
  provider: number;
}

/** Splits the latency of a request; undefined while the request runs. */
export function timingOf({ latency_ms, overhead_us, wait_ms, attempts }: Timed): Timing | undefined {
  if (latency_ms === null) {
    return undefined;
  }
  const total = latency_ms;
  const overhead = Math.min((overhead_us ?? 0) / 1000, total); // exact; the other times are rounded
  const provider = Math.min(inFlight(attempts), total - overhead);
  const waiting = Math.min(wait_ms ?? 0, total - overhead - provider);
  return { total, provider, waiting, gateway: total - provider - waiting };
}

/** The time in which an attempt was in flight. */
function inFlight(attempts: Attempt[]): number {
  let [sum, end] = [0, 0];
  for (const { start_ms, duration_ms } of [...attempts].sort((a, b) => a.start_ms - b.start_ms)) {
    const stop = start_ms + duration_ms;
    sum += Math.max(0, stop - Math.max(start_ms, end));
    end = Math.max(end, stop);
  }
  return sum;
}

/** Round times for the scale of a waterfall of this length: at most five, and none near the end. */
export function ticksOf(span: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, span / 4)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => span / n <= 5) ?? span;
  const ticks: number[] = [];
  for (let at = 0; at <= span * 0.93; at += step) {
    ticks.push(at);
  }
  return ticks;
}
