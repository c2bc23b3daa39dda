import { expect, it } from "vitest";

import { type Figures, joined, measureText, type Report, rowsOf, selectionOf } from "./report";

function figures(requests: number, cost = "1"): Figures {
  return {
    requests,
    served: requests,
    errors: 1,
    error_percent: 10,
    rejected: 0,
    fallbacks: 0,
    priced: requests,
    compared: 0,
    cost_usd: cost,
    baseline_cost_usd: "0",
    saved_usd: "0",
    saved_percent: null,
    coverage_percent: 0,
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    cache_hits: 0,
    cache_saved_usd: "0",
    latency_p50_ms: 5,
    latency_p95_ms: null,
    ttft_p50_ms: null,
  };
}

const report: Report = {
  from: "2026-11-17T00:00:00Z",
  to: "2026-11-18T00:00:00Z",
  by: "tag:team",
  then: "model",
  measure: "spend",
  total: figures(9),
  groups: [
    {
      value: "search",
      label: "search",
      filter: { tag: "team=search" },
      ...figures(6),
      groups: [{ value: "small", label: "small", filter: { model: "small" }, ...figures(4) }],
      rest: figures(2),
    },
    { value: "", label: "", ...figures(2), groups: [] },
  ],
  rest: figures(1),
  grouped_since: null,
  sampled: false,
  notes: [],
};

it("links each group to its requests", () => {
  const rows = rowsOf(
    report,
    selectionOf({ by: "tag:team", then: "model", from: "now-7d", key: "key_1" }),
    false,
  );
  expect(rows.map(({ label }) => label)).toEqual([
    "search",
    "small",
    "Other values",
    "no tag",
    "Other values",
    "Total",
  ]);
  expect(rows[1]?.search).toMatchObject({
    from: "now-7d",
    key: "key_1",
    tag: "team=search",
    model: "small",
    simulated: "false",
    source: "key",
  });
  expect(rows[3]?.search).toBeUndefined();
});

it("does not link two tags, and keeps the narrower key", () => {
  expect(joined({ ...report, then: "tag:stage" }, { tag: "team=a" }, { tag: "stage=b" })).toBeUndefined();
  expect(joined({ ...report, then: "member" }, { key: "k1" }, { key: "k1,k2" })).toEqual({ key: "k1" });
  expect(joined({ ...report, then: "key" }, { key: "k1,k2" }, { key: "k2" })).toEqual({ key: "k2" });
});

it("shows unknown figures as unknown", () => {
  expect(measureText("latency", figures(1))).toBe("—");
  expect(measureText("savings", figures(1))).toBe("—");
  expect(measureText("spend", figures(1, "2"))).toBe("$2.00");
});
