import { expect, it } from "vitest";

import { barsOf, looksOf, type ReportSeries } from "./series";

function figures(cost: number, saved = 0, p95: number | null = null) {
  return {
    requests: 1,
    errors: 0,
    priced: 1,
    compared: 1,
    cost_usd: String(cost),
    saved_usd: String(saved),
    latency_p95_ms: p95,
  };
}

const series: ReportSeries = {
  from: "2026-11-17T10:00:00Z",
  to: "2026-11-17T11:30:00Z",
  step_ms: 3_600_000,
  zone: "UTC",
  groups: [
    { value: "a", label: "a" },
    { value: "", label: "" },
  ],
  bins: [
    { start: "2026-11-17T10:00:00Z", total: figures(6, 1, 20), groups: [figures(3, 2), figures(1, -1)] },
    { start: "2026-11-17T11:00:00Z", total: figures(1, 0, 30), groups: [figures(0), figures(1)] },
  ],
};

it("stacks groups and other values", () => {
  const looks = looksOf(series, "spend", "policy");
  expect(looks.map(({ label }) => label)).toEqual(["a", "no policy", "Other values"]);
  expect(barsOf(series, "spend", looks)).toEqual([
    [
      { look: 0, from: 0, to: 3 },
      { look: 1, from: 3, to: 4 },
      { look: 2, from: 4, to: 6 },
    ],
    [{ look: 1, from: 0, to: 1 }],
  ]);
});

it("has no parts without an amount", () => {
  const all = { ...series, bins: series.bins.slice(1) };
  expect(looksOf(all, "spend", "policy").map(({ label }) => label)).toEqual(["no policy"]);
});

it("does not stack latencies and negative amounts", () => {
  for (const [measure, amount] of [
    ["latency", 20],
    ["savings", 1],
  ] as const) {
    const looks = looksOf(series, measure, "model");
    expect(looks.map(({ label }) => label)).toEqual(["All requests"]);
    expect(barsOf(series, measure, looks)[0]).toEqual([{ look: 0, from: 0, to: amount }]);
  }
  const loss = {
    ...series,
    bins: [{ start: "", total: figures(1, -2), groups: [figures(1, -2), figures(0)] }],
  };
  expect(barsOf(loss, "savings", looksOf(loss, "savings", "model"))).toEqual([
    [{ look: 0, from: 0, to: -2 }],
  ]);
});
