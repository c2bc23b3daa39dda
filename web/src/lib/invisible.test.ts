import { expect, it } from "vitest";

import { countInvisible, splitInvisible } from "./invisible";

it("splits a text at invisible characters and keeps every character", () => {
  const text = "pay\u200bload\u202egnp.exe \u{e0041}\u{e0041}end\u0007";
  const parts = splitInvisible(text);
  expect(parts.map((part) => ("code" in part ? part.code : part.text))).toEqual([
    "pay",
    "U+200B",
    "load",
    "U+202E",
    "gnp.exe ",
    "U+E0041 ×2",
    "end",
    "U+0007",
  ]);
  expect(parts.map((part) => part.text).join("")).toBe(text);
  expect(parts[1]).toMatchObject({ name: "zero-width space" });
  expect(countInvisible(text)).toBe(4);
});

it.each(["plain\ttext\nwith\r\nbreaks", "👩‍👩‍👧 family", "🏳️‍🌈", "می‌خواهم", "क्‍ष", "ä€😀"])(
  "does not split %j",
  (text) => {
    expect(splitInvisible(text)).toEqual([{ text }]);
  },
);

it("marks joiners between Latin letters", () => {
  expect(countInvisible("a\u200db\u200cc")).toBe(2);
});

it("stops after 500 marks", () => {
  const text = "a\u200b".repeat(2000);
  const parts = splitInvisible(text);
  expect(countInvisible(text)).toBe(500);
  expect(parts.map((part) => part.text).join("")).toBe(text);
});
