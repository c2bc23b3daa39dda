import { describe, expect, it } from "vitest";

import { ticksOf, type Timed, timingOf } from "./timing";

const attempts = (...list: [start: number, duration: number][]) =>
  list.map(([start_ms, duration_ms]) => ({ start_ms, duration_ms }));

describe("the timing of a request", () => {
  it.each<[string, Timed, [gateway: number, waiting: number, provider: number]]>([
    [
      "with waiting",
      { latency_ms: 599, overhead_us: 425, wait_ms: 439, attempts: attempts([0, 2], [441, 157]) },
      [1, 439, 159],
    ],
    [
      "with attempts at the same time",
      { latency_ms: 100, overhead_us: 0, wait_ms: 0, attempts: attempts([0, 90], [40, 60]) },
      [0, 0, 100],
    ],
    [
      "that never waited",
      { latency_ms: 102, overhead_us: 400, wait_ms: 0, attempts: attempts([1, 50], [52, 49]) },
      [3, 0, 99],
    ],
    ["without attempts", { latency_ms: 3, overhead_us: 3000, wait_ms: 0, attempts: [] }, [3, 0, 0]],
    [
      "whose rounded parts exceed the total",
      { latency_ms: 10, overhead_us: 900, wait_ms: 3, attempts: attempts([3, 9]) },
      [0.9, 0.1, 9],
    ],
  ])("%s adds up", (_, request, [gateway, waiting, provider]) => {
    const timing = timingOf(request);
    expect(timing?.gateway).toBeCloseTo(gateway);
    expect(timing?.waiting).toBeCloseTo(waiting);
    expect(timing?.provider).toBeCloseTo(provider);
    expect(gateway + waiting + provider).toBeCloseTo(request.latency_ms ?? 0);
  });

  it("is unknown while the request runs", () => {
    expect(timingOf({ latency_ms: null, overhead_us: null, wait_ms: null, attempts: [] })).toBeUndefined();
  });
});

it("divides the waterfall into round steps", () => {
  expect(ticksOf(569)).toEqual([0, 200, 400]);
  expect(ticksOf(1000)).toEqual([0, 200, 400, 600, 800]);
  expect(ticksOf(42_000)).toEqual([0, 10_000, 20_000, 30_000]);
  for (const span of [1, 3, 7, 12, 99, 101, 5_000_000]) {
    expect(ticksOf(span).length).toBeLessThanOrEqual(5);
    expect(ticksOf(span)[0]).toBe(0);
  }
});
