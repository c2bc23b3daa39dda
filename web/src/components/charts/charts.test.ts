import { describe, expect, it } from "vitest";

import { decisionPoints, stack } from "./decisions";
import {
  axisCount,
  axisMoney,
  type Bin,
  hasExtra,
  isRunning,
  spanRange,
  spendPoints,
  stepOf,
} from "./points";

function bin(start: string, more: Partial<Bin> = {}): Bin {
  return {
    start,
    requests: 1,
    served: 1,
    attempts: 1,
    failed_attempts: 0,
    failed_attempt_percent: 0,
    priced_percent: 100,
    coverage_percent: 100,
    errors: 0,
    rejected: 0,
    expected: 1,
    fallbacks: 0,
    policies: 0,
    cache_hits: 0,
    cache_saved_usd: "0",
    priced: 1,
    compared: 1,
    cost_usd: "0",
    baseline_cost_usd: "0",
    saved_usd: "0",
    saved_percent: null,
    error_percent: null,
    fallback_percent: null,
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    latency_p50_ms: null,
    latency_p95_ms: null,
    ttft_p50_ms: null,
    ...more,
  };
}

const noon = "2026-11-03T12:00:00Z";
const one = "2026-11-03T13:00:00Z";

describe("spendPoints", () => {
  it("puts the saved band between spend and baseline", () => {
    const [point] = spendPoints([bin(noon, { cost_usd: "0.1", baseline_cost_usd: "0.3", saved_usd: "0.2" })]);
    expect(point).toMatchObject({ spend: 0.1, baseline: 0.3, saved: [0.1, 0.3], extra: [0.1, 0.1] });
  });

  it("shows spend above the baseline as a separate band", () => {
    const [point] = spendPoints([
      bin(noon, { cost_usd: "0.5", baseline_cost_usd: "0.4", saved_usd: "-0.1" }),
    ]);
    expect(point).toMatchObject({ saved: [0.5, 0.5], extra: [0.4, 0.5] });
  });

  it("draws the running bucket as a separate line", () => {
    const series = [
      bin("2026-11-16T10:00:00Z", { cost_usd: "2" }),
      bin("2026-11-16T11:00:00Z", { cost_usd: "1" }),
    ];
    const [before, running] = spendPoints(series, "2026-11-16T11:00:00Z");
    expect(before).toMatchObject({ spend: 2, running: 2 });
    expect(running).toEqual({ at: "2026-11-16T11:00:00Z", running: 1, bin: series[1] });
    expect(spendPoints(series).map((point) => point.running)).toEqual([undefined, undefined]);
  });

  it.each([
    ["2026-11-16T11:20:00Z", true],
    ["2026-11-16T12:00:00Z", false],
  ])("reports at %s whether the bucket from 11:00 is running", (end, expected) => {
    expect(isRunning({ start: "2026-11-16T11:00:00Z" }, 3_600_000, end)).toBe(expected);
  });

  it("shows percent of the baseline, and no point without a baseline", () => {
    const series = [
      bin(noon, { cost_usd: "1", baseline_cost_usd: "4", saved_usd: "3" }),
      bin(one, { cost_usd: "0", baseline_cost_usd: "0", saved_usd: "0" }),
    ];
    const [half, none] = spendPoints(series, undefined, true);
    expect(half).toMatchObject({ spend: 25, baseline: 100, saved: [25, 100], extra: [25, 25] });
    expect(none).toEqual({ at: one, bin: series[1] });
  });

  it("counts requests without a baseline the same on both lines", () => {
    // Only part of the spend has a baseline: the band must still equal the saving.
    const [point] = spendPoints([bin(noon, { cost_usd: "1", baseline_cost_usd: "0.75", saved_usd: "0.25" })]);
    expect(point).toMatchObject({ spend: 1, baseline: 1.25 });
  });
});

describe("hasExtra", () => {
  it("finds a negative saving in any bucket", () => {
    expect(hasExtra([bin(noon), bin(one, { saved_usd: "-0.000000001" })])).toBe(true);
    expect(hasExtra([bin(noon), bin(one, { saved_usd: "1" })])).toBe(false);
  });
});

describe("decisionPoints", () => {
  it("counts each decision separately", () => {
    expect(decisionPoints([bin(noon, { expected: 3, fallbacks: 2, policies: 1 })])).toEqual([
      { at: noon, expected: 3, fallback: 2, policy: 1 },
    ]);
  });
});

describe("stack", () => {
  const edges = (percent: boolean, expected: number, fallback: number, policy: number) =>
    stack({ at: noon, expected, fallback, policy }, percent).map(({ from, to }) => [from, to]);

  it("stacks counts", () =>
    expect(edges(false, 3, 0, 1)).toEqual([
      [0, 3],
      [3, 3],
      [3, 4],
    ]));

  it("stacks shares to 100", () => expect(edges(true, 3, 0, 1).at(-1)).toEqual([75, 100]));

  it("has no shares without requests", () => expect(edges(true, 0, 0, 0).at(-1)).toEqual([0, 0]));
});

describe("stepOf", () => {
  it("prefers the series over the requested width", () => {
    expect(stepOf([bin(noon), bin(one)], 60_000)).toBe(3_600_000);
    expect(stepOf([bin(noon)], 60_000)).toBe(60_000);
  });

  it("treats a day with a daylight-saving change as a day", () => {
    const march = [bin("2026-03-28T23:00:00Z"), bin("2026-03-29T22:00:00Z")];
    expect(stepOf(march, 86_400_000)).toBe(86_400_000);
  });
});

describe("spanRange", () => {
  it("covers both buckets in either drag direction", () => {
    const want = { from: "2026-11-03T12:00:00.000Z", to: "2026-11-03T14:00:00.000Z" };
    expect(spanRange(noon, one, 3_600_000)).toEqual(want);
    expect(spanRange(one, noon, 3_600_000)).toEqual(want);
  });

  it("ends where the next bucket begins", () => {
    const march = [bin("2026-03-28T23:00:00Z"), bin("2026-03-29T22:00:00Z")];
    const [short, last] = march as [Bin, Bin];
    expect(spanRange(short.start, short.start, 86_400_000, march).to).toBe("2026-03-29T22:00:00.000Z");
    expect(spanRange(last.start, last.start, 86_400_000, march).to).toBe("2026-03-30T22:00:00.000Z");
  });
});

describe("axes", () => {
  it.each([
    [0, "0"],
    [35, "35"],
    [1200, "1.2K"],
    [1350, "1.35K"],
    [3_000_000, "3M"],
  ])("show %d as %s", (n, text) => expect(axisCount(n)).toBe(text));

  it.each([
    [0, "$0"],
    [0.00003, "$0.00003"],
    [0.015, "$0.015"],
    [0.5, "$0.5"],
    [12, "$12"],
    [12.25, "$12.25"],
    [1500, "$1.5K"],
    [-0.25, "−$0.25"],
  ])("show %d dollars as %s", (n, text) => expect(axisMoney(n)).toBe(text));
});
