import { describe, expect, it } from "vitest";

import { timeTicks, valueTicks } from "./ticks";

const hour = 3_600_000;
const day = 24 * hour;

function bins(from: string, stepMs: number, count: number): { start: string }[] {
  return Array.from({ length: count }, (_, i) => ({
    start: new Date(Date.parse(from) + i * stepMs).toISOString(),
  }));
}

function labels(from: string, stepMs: number, count: number, zone: string, most = 8): string[] {
  return timeTicks(bins(from, stepMs, count), stepMs, zone, most).map((tick) => tick.label);
}

describe("timeTicks", () => {
  it("marks round hours and names the day at midnight", () => {
    expect(labels("2026-11-16T14:30:00Z", hour / 2, 48, "utc")).toEqual([
      "15:00",
      "18:00",
      "21:00",
      "17 Nov",
      "03:00",
      "06:00",
      "09:00",
      "12:00",
    ]);
  });

  it("marks midnights of a week of hours", () => {
    const ticks = timeTicks(bins("2026-11-10T15:00:00Z", hour, 168), hour, "utc", 8);
    expect(ticks.map((tick) => tick.label)).toEqual([
      "11 Nov",
      "12 Nov",
      "13 Nov",
      "14 Nov",
      "15 Nov",
      "16 Nov",
      "17 Nov",
    ]);
    expect(ticks[0]?.index).toBe(9);
  });

  it("marks every seventh day of a month", () => {
    expect(labels("2026-10-18T00:00:00Z", day, 30, "utc", 6)).toEqual([
      "22 Oct",
      "29 Oct",
      "5 Nov",
      "12 Nov",
    ]);
  });

  it("follows the time zone, also where days do not begin on a full UTC hour", () => {
    expect(labels("2026-11-16T17:00:00Z", hour, 3, "Asia/Kolkata")).toEqual(["23:30", "17 Nov"]);
    expect(labels("2026-11-14T18:00:00Z", day, 3, "Asia/Kolkata")).toEqual(["15 Nov", "16 Nov", "17 Nov"]);
  });

  it("never returns more ticks than requested", () => {
    for (const [step, count] of [
      [60_000, 60],
      [300_000, 288],
      [hour, 720],
      [day, 365],
    ] as const) {
      for (const most of [2, 5, 9]) {
        const found = timeTicks(bins("2026-01-03T05:17:00Z", step, count), step, "Europe/Berlin", most);
        expect(found.length).toBeLessThanOrEqual(most);
      }
    }
  });

  it("has no ticks without buckets", () =>
    expect(labels("2026-11-16T00:00:00Z", hour, 0, "utc")).toEqual([]));
});

describe("valueTicks", () => {
  it.each([
    [0, [0, 1]],
    [1, [0, 0.25, 0.5, 0.75, 1]],
    [7, [0, 2, 4, 6, 8]],
    [100, [0, 25, 50, 75, 100]],
    [0.0031, [0, 0.001, 0.002, 0.003, 0.004]],
  ])("covers %d", (top, want) => expect(valueTicks(top)).toEqual(want));

  it("keeps counts whole", () => expect(valueTicks(2, true)).toEqual([0, 1, 2]));
});
