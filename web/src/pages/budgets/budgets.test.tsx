import { describe, expect, it } from "vitest";

import { burnPoints, chartTop, evenPoints } from "./points";
import type { Budget, BudgetDetail } from "./query";
import { amountText, barColor, dayText, outlookText, ownerText, rangeText } from "./text";

const forecast: Budget["forecast"] = {
  outlook: "runs_out",
  per_day_usd: "5",
  expected_usd: "110",
  low_usd: "95",
  high_usd: "125",
  used_up_at: "2026-11-24T10:00:00Z",
  used_up_earliest: "2026-11-22T10:00:00Z",
  used_up_latest: null,
};

const budget: Budget = {
  id: "key_1",
  kind: "key",
  name: "ci",
  key_id: "key_1",
  key_name: "ci",
  amount_usd: "100",
  spent_usd: "40",
  held_usd: "1",
  left_usd: "59",
  percent: 40,
  period: "month",
  zone: "",
  warn_percent: 80,
  warn_only: false,
  downgrade: false,
  starts_at: "2026-11-01T00:00:00Z",
  resets_at: "2026-12-01T00:00:00Z",
  by_policy: false,
  can_edit: true,
  forecast,
};

describe("texts of a budget", () => {
  it("describe the forecast", () => {
    const said = (change: Partial<Budget["forecast"]>, more: Partial<Budget> = {}) =>
      outlookText({ ...budget, ...more, forecast: { ...forecast, ...change } });
    expect(said({})).toBe("Runs out around 24 November; resets 1 December");
    expect(said({}, { resets_at: null, period: "total" })).toBe("Runs out around 24 November");
    expect(said({}, { period: "day" })).toBe("Runs out around 10:00; resets 00:00");
    expect(said({ outlook: "used_up" })).toBe("Used up; resets 1 December");
    expect(said({ outlook: "lasts" })).toBe("Lasts until the reset on 1 December");
    expect(said({ outlook: "lasts" }, { resets_at: null })).toBe("Lasts more than a year");
    expect(said({ outlook: "idle" })).toBe("No spending in the last 7 days; resets 1 December");
    expect(said({ outlook: "unknown" })).toBe("Not enough data for a forecast; resets 1 December");
  });

  it("use the zone of the budget for days", () => {
    const reset = "2026-11-30T23:00:00Z";
    expect(dayText(reset, { period: "month", zone: "Europe/Berlin" })).toBe("1 December");
    expect(dayText(reset, { period: "month", zone: "Mars/Base" })).toBe("30 November");
  });

  it("describe the range", () => {
    expect(rangeText(budget)).toBe("Based on the last 7 days. 80 % range: 22 November to after the reset.");
    expect(rangeText({ ...budget, forecast: { ...forecast, outlook: "lasts" } })).toBe(
      "Based on the last 7 days. With higher spending, it could run out as early as 22 November.",
    );
    expect(rangeText({ ...budget, forecast: { ...forecast, outlook: "unknown" } })).toBe(
      "A forecast needs at least 3 days of data.",
    );
  });

  it("describe the owner, the amount and the color", () => {
    expect(ownerText(budget)).toBe("API key");
    expect(ownerText({ kind: "user", key_name: "ci", by_policy: false })).toBe("End user of ci");
    expect(ownerText({ kind: "session", key_name: "ci", by_policy: true })).toBe(
      "Session of ci, set by a policy",
    );
    expect(amountText(budget)).toBe("$100.00 per month");
    expect(amountText({ ...budget, period: "total" })).toBe("$100.00 in total");
    expect(barColor(budget)).toBe("orange");
    expect(barColor({ ...budget, forecast: { ...forecast, outlook: "lasts" } })).toBe("cyan");
    expect(barColor({ ...budget, percent: 100 })).toBe("red");
  });
});

describe("points of the burn-down", () => {
  const detail: BudgetDetail = {
    ...budget,
    curve_start: "2026-11-01T00:00:00Z",
    curve: [
      { at: "2026-11-01T00:00:00Z", spent_usd: "0" },
      { at: "2026-11-16T00:00:00Z", spent_usd: "40" },
    ],
    expected: [
      { at: "2026-11-16T00:00:00Z", expected_usd: "40", low_usd: "40", high_usd: "40" },
      { at: "2026-12-01T00:00:00Z", expected_usd: "110", low_usd: "95", high_usd: "900" },
    ],
    spenders: [],
    rejected: [],
  };

  it("join the curve, the forecast and the even pace", () => {
    expect(burnPoints(detail)).toEqual([
      { at: Date.parse("2026-11-01"), spent: 0, pace: 0 },
      { at: Date.parse("2026-11-16"), spent: 40, expected: 40, range: [40, 40], pace: 50 },
      { at: Date.parse("2026-12-01"), expected: 110, range: [95, 900], pace: 100 },
    ]);
    expect(burnPoints({ ...detail, starts_at: null, resets_at: null })[0]).not.toHaveProperty("pace");
  });

  it("are interpolated at even distances", () => {
    const { points, stepMs } = evenPoints(burnPoints(detail));
    expect(stepMs).toBe(6 * 3_600_000);
    expect(points).toHaveLength(121);
    expect(points[30]).toEqual({ at: Date.parse("2026-11-08T12:00:00Z"), spent: 20, pace: 25 });
    expect(points[60]).toEqual({
      at: Date.parse("2026-11-16"),
      spent: 40,
      expected: 40,
      range: [40, 40],
      pace: 50,
    });
    expect(points[90]).toMatchObject({ spent: undefined, expected: 75, range: [67.5, 470], pace: 75 });
    expect(evenPoints([])).toEqual({ points: [{ at: 0 }], stepMs: 60_000 });
  });

  it("do not let a wide range flatten the chart", () => {
    expect(chartTop(burnPoints(detail), 100)).toBeCloseTo(231);
    expect(chartTop([], 100)).toBeCloseTo(105);
  });
});
