import { expect, it } from "vitest";

import { type DiffPart, similarity, wordDiff } from "./wordDiff";

const side = (parts: DiffPart[], kind: DiffPart["kind"]) =>
  parts
    .filter((part) => part.kind === "same" || part.kind === kind)
    .map((part) => part.text)
    .join("");

const marked = (parts: DiffPart[]) =>
  parts
    .map(({ kind, text }) => (kind === "same" ? text : kind === "removed" ? `[-${text}-]` : `{+${text}+}`))
    .join("");

it.each([
  ["the cat sat", "the cat sat", "the cat sat"],
  ["the cat sat", "the dog sat", "the [-cat-]{+dog+} sat"],
  ["a b", "a x b", "a {+x +}b"],
  ["a, b.", "a; b.", "a[-,-]{+;+} b."],
  ["", "new", "{+new+}"],
  ["old", "", "[-old-]"],
  ["", "", ""],
])("compares %j with %j", (a, b, want) => {
  expect(marked(wordDiff(a, b))).toBe(want);
});

it("reproduces both texts", () => {
  // A small generator, so that failures can be repeated.
  let seed = 7;
  const random = (n: number) => (seed = (seed * 16807) % 2147483647) % n;
  const words = ["a", "b", "c", " ", "\n", ",", "ä", "😀"];
  for (let i = 0; i < 200; i++) {
    const text = () => Array.from({ length: random(40) }, () => words[random(words.length)]).join("");
    const [a, b] = [text(), text()];
    const parts = wordDiff(a, b);
    expect(side(parts, "removed")).toBe(a);
    expect(side(parts, "added")).toBe(b);
  }
});

it("is bounded for long and different texts", () => {
  const a = Array.from({ length: 30_000 }, (_, i) => `a${i}`).join(" ");
  const b = Array.from({ length: 30_000 }, (_, i) => `b${i}`).join(" ");
  const start = performance.now();
  const parts = wordDiff(a, b);
  expect(performance.now() - start).toBeLessThan(5000);
  expect(side(parts, "removed")).toBe(a);
  expect(side(parts, "added")).toBe(b);
});

it("measures similarity", () => {
  expect(similarity(wordDiff("a b c", "a b c"))).toBe(1);
  expect(similarity(wordDiff("", ""))).toBe(1);
  expect(similarity(wordDiff("one", "two"))).toBe(0);
  expect(similarity(wordDiff("one two", "one six"))).toBeCloseTo(0.5, 1);
});
