import { expect, test } from "vitest";

import { countsText, draftOf, inForce, isChanged, rulesOf, withBuiltin } from "./redaction";

const facts = {
  default: ["card"],
  builtin: [
    { name: "secret", description: "Keys." },
    { name: "email", description: "Addresses." },
    { name: "card", description: "Numbers." },
  ],
};

test("without rules of its own a workspace follows the gateway", () => {
  const draft = draftOf(undefined, facts);
  expect(draft).toEqual({ inherit: true, builtin: ["card"], custom: [] });
  expect(rulesOf(draft, facts)).toBeNull();
  expect(inForce(draft, facts)).toEqual({ builtin: ["card"], custom: [] });
});

test("turning everything off is not following the gateway", () => {
  const draft = withBuiltin({ ...draftOf(undefined, facts), inherit: false }, "card", false);
  expect(rulesOf(draft, facts)).toEqual({ builtin: [], custom: [] });
  expect(isChanged(draft, undefined, facts)).toBe(true);
  expect(isChanged(draft, { builtin: [], custom: [] }, facts)).toBe(false);
});

test("the order of clicking does not matter, and what is unknown is kept", () => {
  let draft = draftOf({ builtin: ["newer", "card"], custom: [] }, facts);
  draft = withBuiltin(withBuiltin(draft, "email", true), "email", true);
  expect(rulesOf(draft, facts)?.builtin).toEqual(["email", "card", "newer"]);
  expect(
    isChanged(withBuiltin(draft, "email", false), { builtin: ["card", "newer"], custom: [] }, facts),
  ).toBe(false);
});

test("names of rules are trimmed, patterns are not", () => {
  const draft = { inherit: false, builtin: [], custom: [{ name: " a ", pattern: " b " }] };
  expect(rulesOf(draft, facts)?.custom).toEqual([{ name: "a", pattern: " b " }]);
});

test.each<{ counts: Record<string, number>; text: string }>([
  { counts: {}, text: "Nothing is taken out." },
  { counts: { email: 2 }, text: "2 taken out: email 2." },
  { counts: { email: 1, "code name": 2 }, text: "3 taken out: email 1, code name 2." },
])("$text", ({ counts, text }) => {
  expect(countsText(counts)).toBe(text);
});
