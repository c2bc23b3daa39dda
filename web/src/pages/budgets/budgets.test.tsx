import { describe, expect, it } from "vitest";

import type { Budget } from "./query";
import { amountText, barColor, dayText, outlookText, ownerText } from "./text";

const forecast: Budget["forecast"] = {
  outlook: "runs_out",
  per_day_usd: "5",
  expected_usd: "110",
  used_up_at: "2026-11-24T10:00:00Z",
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
