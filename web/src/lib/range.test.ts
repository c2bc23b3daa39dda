import { describe, expect, it } from "vitest";

import { bounds, isRelative, parseMoment, pin, wider } from "./range";

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
});
