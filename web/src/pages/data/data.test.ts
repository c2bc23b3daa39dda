import { expect, test } from "vitest";

import { daysOf, isShorter, keptFor, msOf, selection } from "./retention";

const day = 86_400_000;

test.each([
  { ms: null, days: "", text: "for ever" },
  { ms: day, days: 1, text: "1 day" },
  { ms: 90 * day, days: 90, text: "90 days" },
  { ms: day / 2, days: 0.5, text: "0.5 days" },
] as const)("$text", ({ ms, days, text }) => {
  expect(daysOf(ms)).toBe(days);
  expect(msOf(days)).toBe(ms);
  expect(keptFor(ms)).toBe(text);
});

test.each([
  { name: "fewer days", before: 9 * day, after: 8 * day, own: 90 * day, want: true },
  { name: "more days", before: 8 * day, after: 9 * day, own: 90 * day, want: false },
  { name: "from the gateway's to less", before: null, after: 8 * day, own: 90 * day, want: true },
  { name: "to the gateway's, which is more", before: 8 * day, after: null, own: 90 * day, want: false },
  { name: "to the gateway's, which is less", before: 100 * day, after: null, own: 90 * day, want: true },
  { name: "from for ever to something", before: null, after: 8 * day, own: null, want: true },
  { name: "the same", before: null, after: null, own: null, want: false },
])("shorter: $name", ({ before, after, own, want }) => {
  expect(isShorter(before, after, own)).toBe(want);
});

test("a selection has only what limits it", () => {
  expect(selection("all", {})).toEqual({});
  expect(selection("older-30d", { model: "small", q: undefined })).toEqual({ model: "small", to: "now-30d" });
  expect(selection("last-24h", { outcome: "" })).toEqual({ from: "now-24h" });
});
