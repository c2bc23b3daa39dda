import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { durationOf, runningCosts, splitTime } from "./figures";
import { cost } from "./SessionsPage";

function turn(fields: Partial<Schema["Turn"]>): Schema["Turn"] {
  return { latency_ms: 1000, overhead_us: 2000, gap_ms: null, cost_usd: null, ...fields } as Schema["Turn"];
}

describe("figures of a session", () => {
  it("split the wall time into model, tools and gateway", () => {
    expect(
      splitTime([turn({}), turn({ gap_ms: 5000 }), turn({ latency_ms: null, overhead_us: null })]),
    ).toEqual({
      model: 1996,
      tools: 5000,
      gateway: 4,
    });
  });

  it("add up costs turn by turn and skip unknown ones", () => {
    const turns = [turn({ cost_usd: "0.1" }), turn({}), turn({ cost_usd: "0.000000001" })];
    expect(runningCosts(turns)).toEqual(["0.1", "0.1", "0.100000001"]);
  });

  it("have a duration from the first to the latest request", () => {
    expect(durationOf({ start: "2026-11-01T10:00:00Z", last: "2026-11-01T10:01:00Z" })).toBe(60_000);
  });

  it("have an unknown cost if no turn has a price", () => {
    const row = { turns: 2, unpriced: 2, cost_usd: "0" } as Schema["SessionSummary"];
    expect(cost(row)).toBeNull();
    expect(cost({ ...row, unpriced: 1, cost_usd: "0.5" })).toBe("0.5");
  });
});
