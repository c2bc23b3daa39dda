import { expect, test } from "vitest";

import { priceOrigin } from "./prices";

test("a list price names its sources", () => {
  expect(priceOrigin({ price_source: "list", source: "models.dev+litellm" })).toEqual({
    word: "List price",
    detail: "Compiled from models.dev, litellm.",
  });
});

test.each([
  ["override", "Override"],
  ["provider-reported", "Provider-reported"],
  ["local", "Local, free"],
] as const)("a price of kind %s is labelled %s", (kind, word) => {
  const origin = priceOrigin({ price_source: kind, source: kind });
  expect(origin.word).toBe(word);
  expect(origin.detail).not.toContain("Compiled");
});
