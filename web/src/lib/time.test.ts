import { describe, expect, it } from "vitest";

import {
  dayNote,
  fieldMoment,
  fieldText,
  formatAge,
  formatBriefTime,
  formatBucket,
  formatMoment,
  formatRowTime,
  zoneName,
} from "./time";

const now = Date.parse("2026-11-03T12:00:00Z");

describe("times", () => {
  it("include the day unless it is today", () => {
    expect(formatRowTime("2026-11-03T09:08:07Z", "utc", now)).toBe("09:08:07");
    expect(formatRowTime("2026-11-02T23:59:59Z", "utc", now)).toBe("2 Nov 23:59:59");
    expect(formatBriefTime("2026-11-03T09:08:07Z", "utc", now)).toBe("09:08:07");
    expect(formatBriefTime("2026-11-02T23:59:59Z", "utc", now)).toBe("2 Nov 23:59");
  });

  it("are marked as UTC", () => {
    expect(formatMoment("2026-11-03T09:08:07Z", "utc")).toBe("3 Nov 2026, 09:08:07 UTC");
  });

  it.each([
    ["2026-11-03T11:59:56Z", "4 seconds ago"],
    ["2026-11-03T11:00:00Z", "1 hour ago"],
    ["2026-11-05T12:00:00Z", "in 2 days"],
    ["2026-11-10T11:59:58Z", "in 7 days"],
    ["2026-11-03T12:00:20Z", "in 20 seconds"],
    ["2026-11-03T12:00:00Z", "just now"],
  ])("%s is %s", (at, want) => {
    expect(formatAge(at, now)).toBe(want);
  });

  it("label chart buckets as precisely as they are wide", () => {
    const at = "2026-11-03T09:00:00Z";
    expect([60_000, 3_600_000, 86_400_000].map((step) => formatBucket(at, step, "utc"))).toEqual([
      "09:00",
      "3 Nov 09:00",
      "3 Nov",
    ]);
  });
});

describe("days of charts", () => {
  it("are named by their noon", () => {
    // Midnight in Kolkata is 18:30 UTC; its figures begin half an hour earlier.
    expect(formatBucket("2026-11-14T18:00:00Z", 86_400_000, "Asia/Kolkata")).toBe("15 Nov");
    expect(formatBucket("2026-11-15T05:00:00Z", 86_400_000, "America/New_York")).toBe("15 Nov");
    expect(formatBucket("2026-11-15T00:00:00Z", 86_400_000, "America/New_York")).toBe("15 Nov");
  });

  it.each([
    ["utc", undefined],
    ["UTC", undefined],
    ["Europe/Paris", "Europe/Paris"],
  ])("in %s are requested as %s", (zone, name) => expect(zoneName(zone)).toBe(name));

  it.each([
    ["no days", undefined, "Asia/Kolkata", undefined],
    ["midnight", { zone: "Europe/Paris", shift_ms: 0 }, "Europe/Paris", undefined],
    ["UTC, as asked", { zone: "UTC", shift_ms: 0 }, undefined, undefined],
    [
      "half an hour early",
      { zone: "Asia/Kolkata", shift_ms: -1_800_000 },
      "Asia/Kolkata",
      "Days begin 30 minutes before midnight in Asia/Kolkata, because figures are stored by UTC hour.",
    ],
    [
      "UTC instead of the zone",
      { zone: "UTC", shift_ms: 0 },
      "Europe/Paris",
      "Days are in UTC: hourly figures for this period are no longer stored.",
    ],
  ])("explain where they begin: %s", (_name, days, requested, note) =>
    expect(dayNote(days, requested)).toBe(note),
  );
});

describe("the account's time zone", () => {
  it("is used for times", () => {
    expect(formatMoment("2026-07-03T22:30:00Z", "Europe/Paris")).toBe("4 Jul 2026, 00:30:00");
    expect(formatRowTime("2026-11-02T23:30:00Z", "Europe/Paris", Date.parse("2026-11-03T08:00:00Z"))).toBe(
      "00:30:00",
    );
  });

  it("falls back to the browser's zone when the browser does not know it", () => {
    expect(formatMoment("2026-11-03T09:08:07Z", "Nowhere/None")).toBe("3 Nov 2026, 09:08:07");
  });

  it.each([
    ["2026-07-04T00:30", "Europe/Paris", "2026-07-03T22:30:00.000Z"],
    ["2026-01-04T00:30", "America/New_York", "2026-01-04T05:30:00.000Z"],
    ["2026-10-25T12:00", "Europe/Paris", "2026-10-25T11:00:00.000Z"], // daylight saving ends that night
    ["2026-07-04T00:30", "utc", "2026-07-04T00:30:00.000Z"],
  ])("parses %s in %s as %s, and formats it back", (text, zone, iso) => {
    expect(new Date(fieldMoment(text, zone) ?? 0).toISOString()).toBe(iso);
    expect(fieldText(Date.parse(iso), zone)).toBe(text);
  });

  it("does not parse an incomplete input", () => {
    expect(fieldMoment("", "utc")).toBeUndefined();
  });
});
