import { expect, test } from "vitest";

import { priceOrigin } from "./prices";

test("a list price names the lists it was compiled from", () => {
  expect(priceOrigin({ price_source: "list", source: "models.dev+litellm" })).toEqual({
    word: "List price",
    detail: "Compiled from models.dev, litellm.",
  });
});

test.each([
  ["override", "Override"],
  ["provider-reported", "Provider-reported"],
  ["local", "Local, free"],
] as const)("a price of the kind %s is called %s", (kind, word) => {
  const origin = priceOrigin({ price_source: kind, source: kind });
  expect(origin.word).toBe(word);
  expect(origin.detail).not.toContain("Compiled");
});
