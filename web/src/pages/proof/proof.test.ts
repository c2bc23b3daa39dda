import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import {
  againstNotes,
  bandPath,
  formatInterval,
  formatPoints,
  formatShare,
  headline,
  linePath,
  missingText,
  netSaved,
  newestMonths,
  plotOf,
  verdict,
} from "./figures";

const estimate = (value: number, low: number, high: number) => ({ value, low, high });

describe("formats", () => {
  it("differences in points", () => {
    expect(formatPoints(-0.004)).toBe("−0.4");
    expect(formatPoints(0.0123)).toBe("+1.2");
    expect(formatPoints(-0.0001)).toBe("0.0");
    expect(formatInterval(estimate(-0.004, -0.01, 0.002))).toBe("−1.0 to +0.2");
    expect(formatShare(estimate(0.042, 0.031, 0.056))).toBe("4.2 % (3.1 – 5.6 %)");
  });

  it("verdicts only where the interval excludes zero", () => {
    expect(verdict(estimate(-0.02, -0.03, -0.01))).toBe("Worse than the baseline");
    expect(verdict(estimate(0.02, 0.01, 0.03))).toBe("Better than the baseline");
    expect(verdict(estimate(-0.02, -0.05, 0.01))).toBe("No difference found");
  });

  it("missing figures", () => {
    expect(missingText(0)).toBe("No comparisons yet");
    expect(missingText(1)).toBe("1 comparison of 50 needed");
  });
});

describe("a chosen baseline", () => {
  const against = {
    model: "large",
    from: "2026-11-01T08:00:00Z",
    complete: true,
    logged: 100,
    recorded: 0,
    repriced: 100,
    cache_unknown: 0,
    current_prices: 0,
    unpriced: 0,
    other_kind: 0,
  };
  const notes = (change: Partial<typeof against>, rest: Partial<Schema["Proof"]> = {}) =>
    againstNotes({ requests: 100, ...rest, against: { ...against, ...change } } as Schema["Proof"]);

  it("has no notes without a chosen model", () => {
    expect(againstNotes({} as Schema["Proof"])).toEqual([]);
  });

  it("describes the accuracy of the savings", () => {
    expect(notes({})).toEqual([
      "Computed from the recorded tokens of 100 logged requests at the prices that large had at the time of each request.",
    ]);
    expect(notes({ complete: false })[1]).toContain("since 2026-11-01 08:00 UTC");
    expect(notes({}, { requests: 200 })[1]).toBe(
      "The period had 200 requests; those that are missing here were deleted from the log.",
    );
    expect(notes({ cache_unknown: 7 })[1]).toMatch(/^The cost of 7 requests is an estimate/);
    expect(notes({ current_prices: 1, unpriced: 2, other_kind: 3 })).toHaveLength(4);
    const quality = { baselines: ["huge"] } as Schema["QualityReport"];
    expect(notes({}, { quality })[1]).toBe("The quality difference is measured against huge.");
  });
});

describe("headline", () => {
  const savings = { compared: 10, saved_usd: "412", baseline_cost_usd: "530" } as Schema["FigureSet"];
  const proof = (quality: Partial<Schema["QualityReport"]> | null) =>
    ({ savings, quality }) as unknown as Schema["Proof"];

  it("reports savings and quality", () => {
    const quality = { samples: 1840, difference: estimate(-0.004, -0.01, 0.002), baselines: ["large"] };
    expect(headline(proof(quality))).toBe(
      "Saved $412.00 of $530.00. Quality difference −0.4 points against large (95 % interval −1.0 to +0.2), measured on 1,840 comparisons.",
    );
  });

  it("does not report a difference from too few comparisons", () => {
    expect(headline(proof({ samples: 12, baselines: [] }))).toBe(
      "Saved $412.00 of $530.00. Quality: 12 comparisons of 50 needed.",
    );
    expect(headline(proof(null))).toBe("Saved $412.00 of $530.00. Quality is not measured.");
    expect(headline({ ...proof(null), savings: { ...savings, compared: 0 } })).toBe(
      "No requests with a known baseline. Quality is not measured.",
    );
  });
});

it("subtracts the cost of the comparison exactly", () => {
  expect(netSaved("412", "0.000000001")).toBe("411.999999999");
  expect(netSaved("0.5", "1.25")).toBe("-0.750000000");
  expect(netSaved("1", null)).toBeNull();
});

it("lists the newest months in UTC", () => {
  expect(newestMonths(new Date("2026-01-31T23:30:00-05:00"), 3)).toEqual([
    { value: "2026-02", label: "February 2026" },
    { value: "2026-01", label: "January 2026" },
    { value: "2025-12", label: "December 2025" },
  ]);
});

describe("plot", () => {
  const days = [
    { day: "2026-11-01T00:00:00Z", samples: 20 },
    { day: "2026-11-02T00:00:00Z", samples: 60, difference: estimate(0, -0.1, 0.05) },
    { day: "2026-11-04T00:00:00Z", samples: 90, difference: estimate(-0.05, -0.1, 0) },
  ];

  it("places days by time and values symmetrically around zero", () => {
    const { points, zero, ticks } = plotOf(days, 100, 40);
    expect(points.map(({ x }) => x)).toEqual([0, 100]);
    expect(points[0]).toMatchObject({ value: 20, low: 40, high: 10 });
    expect(points[1]).toMatchObject({ value: 30, low: 40, high: 20 });
    expect(zero).toBe(20);
    expect(ticks[0]).toEqual({ y: 0, label: "+10.0" });
  });

  it("draws the band and the line", () => {
    const { points } = plotOf(days, 100, 40);
    expect(bandPath(points)).toBe("M0 10L100 20L100 40L0 40Z");
    expect(linePath(points)).toBe("M0 20L100 30");
    expect(bandPath([])).toBe("");
    expect(plotOf([], 100, 40).points).toEqual([]);
  });
});
