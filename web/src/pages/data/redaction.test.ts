import { expect, test } from "vitest";

import { countsText, draftOf, effectiveRules, isChanged, rulesOf, withBuiltin } from "./redaction";

const facts = {
  default: ["card"],
  builtin: [
    { name: "secret", description: "Keys." },
    { name: "email", description: "Addresses." },
    { name: "card", description: "Numbers." },
  ],
};

test("a workspace without its own rules inherits the gateway's", () => {
  const draft = draftOf(undefined, facts);
  expect(draft).toEqual({ inherit: true, builtin: ["card"], custom: [] });
  expect(rulesOf(draft, facts)).toBeNull();
  expect(effectiveRules(draft, facts)).toEqual({ builtin: ["card"], custom: [] });
});

test("turning every rule off differs from inheriting", () => {
  const draft = withBuiltin({ ...draftOf(undefined, facts), inherit: false }, "card", false);
  expect(rulesOf(draft, facts)).toEqual({ builtin: [], custom: [] });
  expect(isChanged(draft, undefined, facts)).toBe(true);
  expect(isChanged(draft, { builtin: [], custom: [] }, facts)).toBe(false);
});

test("the order of clicks does not matter, and unknown rules are kept", () => {
  let draft = draftOf({ builtin: ["newer", "card"], custom: [] }, facts);
  draft = withBuiltin(withBuiltin(draft, "email", true), "email", true);
  expect(rulesOf(draft, facts)?.builtin).toEqual(["email", "card", "newer"]);
  expect(
    isChanged(withBuiltin(draft, "email", false), { builtin: ["card", "newer"], custom: [] }, facts),
  ).toBe(false);
});

test("rule names are trimmed, patterns are not", () => {
  const draft = { inherit: false, builtin: [], custom: [{ name: " a ", pattern: " b " }] };
  expect(rulesOf(draft, facts)?.custom).toEqual([{ name: "a", pattern: " b " }]);
});

test.each<{ counts: Record<string, number>; text: string }>([
  { counts: {}, text: "No matches." },
  { counts: { email: 2 }, text: "2 redactions: email 2." },
  { counts: { email: 1, "code name": 2 }, text: "3 redactions: email 1, code name 2." },
])("$text", ({ counts, text }) => {
  expect(countsText(counts)).toBe(text);
});
