import { expect, test } from "vitest";

import { priceBody, priceDraft, wrongPrices } from "./priceDraft";

test("a draft starts with the price that holds", () => {
  expect(priceDraft(undefined)).toEqual({ input: "", output: "", cacheRead: "" });
});

test("input and output must be amounts; the cache may be left out", () => {
  expect([...wrongPrices({ input: "", output: "2", cacheRead: "" })]).toEqual(["input"]);
  expect([...wrongPrices({ input: "1", output: "-2", cacheRead: "x" })]).toEqual(["output", "cacheRead"]);
  expect([...wrongPrices({ input: "0", output: "$2.50", cacheRead: "" })]).toEqual([]);
});

test("amounts are sent exactly as they were meant", () => {
  expect(priceBody({ input: "$0.10", output: "2.500", cacheRead: "" })).toEqual({
    input_per_mtok_usd: "0.1",
    output_per_mtok_usd: "2.5",
    cache_read_per_mtok_usd: undefined,
  });
});
