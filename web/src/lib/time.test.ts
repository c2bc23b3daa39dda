import { describe, expect, it } from "vitest";

import { fieldMoment, fieldText, formatAge, formatBucket, formatMoment, formatRowTime } from "./time";

const now = Date.parse("2026-11-03T12:00:00Z");

describe("times", () => {
  it("name the day only when it is another one", () => {
    expect(formatRowTime("2026-11-03T09:08:07Z", "utc", now)).toBe("09:08:07");
    expect(formatRowTime("2026-11-02T23:59:59Z", "utc", now)).toBe("2 Nov 23:59:59");
  });

  it("say when they are in UTC", () => {
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

  it("label buckets as precisely as they are wide", () => {
    const at = "2026-11-03T09:00:00Z";
    expect([60_000, 3_600_000, 86_400_000].map((step) => formatBucket(at, step, "utc"))).toEqual([
      "09:00",
      "3 Nov 09:00",
      "3 Nov",
    ]);
  });
});

describe("a zone of the account", () => {
  it("is what times are written in", () => {
    expect(formatMoment("2026-07-03T22:30:00Z", "Europe/Paris")).toBe("4 Jul 2026, 00:30:00");
    expect(formatRowTime("2026-11-02T23:30:00Z", "Europe/Paris", Date.parse("2026-11-03T08:00:00Z"))).toBe(
      "00:30:00",
    );
  });

  it("that the browser does not know is its own", () => {
    expect(formatMoment("2026-11-03T09:08:07Z", "Nowhere/None")).toBe("3 Nov 2026, 09:08:07");
  });

  it.each([
    ["2026-07-04T00:30", "Europe/Paris", "2026-07-03T22:30:00.000Z"],
    ["2026-01-04T00:30", "America/New_York", "2026-01-04T05:30:00.000Z"],
    ["2026-10-25T12:00", "Europe/Paris", "2026-10-25T11:00:00.000Z"], // the clocks are changed that night
    ["2026-07-04T00:30", "utc", "2026-07-04T00:30:00.000Z"],
  ])("reads %s in %s as %s, and writes it so", (text, zone, iso) => {
    expect(new Date(fieldMoment(text, zone) ?? 0).toISOString()).toBe(iso);
    expect(fieldText(Date.parse(iso), zone)).toBe(text);
  });

  it("reads nothing from a field that is half filled", () => {
    expect(fieldMoment("", "utc")).toBeUndefined();
  });
});
