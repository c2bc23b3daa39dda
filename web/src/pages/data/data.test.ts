import { expect, test } from "vitest";

import { daysOf, isShorter, keptFor, msOf, selection } from "./retention";

const day = 86_400_000;

test.each([
  { ms: null, days: "", text: "forever" },
  { ms: day, days: 1, text: "1 day" },
  { ms: 90 * day, days: 90, text: "90 days" },
  { ms: day / 2, days: 0.5, text: "0.5 days" },
] as const)("$text", ({ ms, days, text }) => {
  expect(daysOf(ms)).toBe(days);
  expect(msOf(days)).toBe(ms);
  expect(keptFor(ms)).toBe(text);
});

test.each([
  { name: "fewer days", before: 9 * day, after: 8 * day, inherited: 90 * day, want: true },
  { name: "more days", before: 8 * day, after: 9 * day, inherited: 90 * day, want: false },
  { name: "from the default to less", before: null, after: 8 * day, inherited: 90 * day, want: true },
  { name: "to a longer default", before: 8 * day, after: null, inherited: 90 * day, want: false },
  { name: "to a shorter default", before: 100 * day, after: null, inherited: 90 * day, want: true },
  { name: "from forever to a limit", before: null, after: 8 * day, inherited: null, want: true },
  { name: "unchanged", before: null, after: null, inherited: null, want: false },
])("shorter: $name", ({ before, after, inherited, want }) => {
  expect(isShorter(before, after, inherited)).toBe(want);
});

test("a selection contains only the filters that are set", () => {
  expect(selection("all", {})).toEqual({});
  expect(selection("older-30d", { model: "small", q: undefined })).toEqual({ model: "small", to: "now-30d" });
  expect(selection("last-24h", { outcome: "" })).toEqual({ from: "now-24h" });
});
