import { expect, test } from "vitest";

import { priceBody, priceDraft, invalidPrices } from "./priceDraft";

test("a draft of an unpriced model is empty", () => {
  expect(priceDraft(undefined)).toEqual({ input: "", output: "", cacheRead: "" });
});

test("input and output are required, the cache price is optional", () => {
  expect([...invalidPrices({ input: "", output: "2", cacheRead: "" })]).toEqual(["input"]);
  expect([...invalidPrices({ input: "1", output: "-2", cacheRead: "x" })]).toEqual(["output", "cacheRead"]);
  expect([...invalidPrices({ input: "0", output: "$2.50", cacheRead: "" })]).toEqual([]);
});

test("amounts are normalised without losing digits", () => {
  expect(priceBody({ input: "$0.10", output: "2.500", cacheRead: "" })).toEqual({
    input_per_mtok_usd: "0.1",
    output_per_mtok_usd: "2.5",
    cache_read_per_mtok_usd: undefined,
  });
});
