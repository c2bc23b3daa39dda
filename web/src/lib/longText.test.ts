import { describe, expect, it } from "vitest";

import { markedEnd, splitRuns } from "./longText";

describe("splitRuns", () => {
  it.each([
    ["", 1],
    ["word ".repeat(10_000), 1],
    ["x".repeat(512), 1],
    ["x".repeat(513), 2],
    ["x".repeat(100_000), 196],
    [`${"x".repeat(500)} ${"y".repeat(500)}\n${"z".repeat(500)}`, 1],
    ["😀".repeat(1000), 4],
  ])("keeps every character (%#)", (text, parts) => {
    const split = splitRuns(text);
    expect(split.join("")).toBe(text);
    expect(split).toHaveLength(parts);
    expect(split.some((part) => /[\ud800-\udbff]$/.test(part))).toBe(false); // no surrogate pair is split
    expect(
      Math.max(...split.flatMap((part) => part.split(/\s/)).map((run) => run.length)),
    ).toBeLessThanOrEqual(514);
  });

  it("keeps a character and its combining accent together", () => {
    const split = splitRuns("e\u0301".repeat(1000));
    expect(split.every((part) => !part.startsWith("\u0301"))).toBe(true);
  });
});

describe("markedEnd", () => {
  it.each([
    ["a few matches", "one two One", "one", 11],
    ["no search", "abc", " ", 3],
    ["many matches", "A".repeat(100_000), "a", 500],
  ])("%s", (_, text, search, expected) => {
    expect(markedEnd(text, search)).toBe(expected);
  });
});
