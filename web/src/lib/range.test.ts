import { describe, expect, it } from "vitest";

import { bounds, invalidEnds, isRelative, parseMoment, pin, rangeOf, wider } from "./range";

const now = Date.parse("2026-11-03T12:00:00Z");

describe("parseMoment", () => {
  it.each([
    ["now", "2026-11-03T12:00:00.000Z"],
    ["now-15m", "2026-11-03T11:45:00.000Z"],
    ["now-24h", "2026-11-02T12:00:00.000Z"],
    ["now-30d", "2026-10-04T12:00:00.000Z"],
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
  ])("parses %s", (text, want) => {
    expect(new Date(parseMoment(text, now) ?? 0).toISOString()).toBe(want);
  });

  it.each(["", "yesterday", "now-", "now-5y", "now+1h", "12", "2026"])("rejects %j", (text) => {
    expect(parseMoment(text, now)).toBeUndefined();
  });
});

describe("ranges", () => {
  it("stay relative until they are pinned", () => {
    expect(isRelative({ from: "now-24h" })).toBe(true);
    const pinned = pin({ from: "now-1h" }, now);
    expect(pinned).toEqual({ from: "2026-11-03T11:00:00.000Z", to: "2026-11-03T12:00:00.000Z" });
    expect(isRelative(pinned)).toBe(false);
  });

  it("have ordered bounds, even for a reversed or invalid URL", () => {
    expect(bounds({ from: "now", to: "now-1h" }, now)).toEqual({ from: now - 3_600_000, to: now });
    expect(bounds({ from: "nonsense" }, now)).toEqual({ from: now - 86_400_000, to: now });
  });

  it("have a next longer preset", () => {
    expect(wider({ from: "now-15m" })).toEqual({ from: "now-1h" });
    expect(wider({ from: "now-30d" })).toBeUndefined();
  });

  it("come from the URL, with defaults for invalid ends", () => {
    expect(rangeOf({ from: "now-7d", to: "now-1d" })).toEqual({ from: "now-7d", to: "now-1d" });
    expect(rangeOf({ from: "yesterday", to: "" })).toEqual({ from: "now-24h" });
    expect(invalidEnds({ from: "yesterday", to: "now" })).toEqual(["yesterday"]);
    expect(invalidEnds({})).toEqual([]);
  });

  it.each([
    [{ from: "now-1h", to: "now-5m" }, true],
    [{ from: "now-1h", to: "2026-11-03T11:00:00Z" }, false],
    [{ from: "2026-11-03T11:00:00Z" }, false],
  ])("report whether %o is relative", (range, expected) => expect(isRelative(range)).toBe(expected));
});
