import { describe, expect, it } from "vitest";

import { chipsOf, cleared, cliCommand, filtersOf, joinList, shellQuote, splitList, without } from "./filters";
import { parseSearch, stringifySearch } from "./search";

describe("filters in the URL", () => {
  it("are plain parameters and survive a round trip", () => {
    const search = { decision: "fallback,policy", status: "502", q: "a b&c=d", from: "now-24h" };
    const text = stringifySearch(search);
    expect(text).toBe("?decision=fallback,policy&status=502&q=a+b%26c%3Dd&from=now-24h");
    expect(parseSearch(text)).toEqual(search);
  });

  it("stay strings, even if they look like a number or a boolean", () => {
    expect(parseSearch("?status=500&stream=true")).toEqual({ status: "500", stream: "true" });
  });

  it("omit empty values and parameters that are not filters", () => {
    expect(stringifySearch({ a: undefined, b: "", c: null })).toBe("");
    expect(filtersOf({ model: "small-b", id: "req_1", live: "1", provider: "" })).toEqual({
      model: "small-b",
    });
  });

  it("are all removed by cleared", () => {
    expect(filtersOf({ model: "x", q: "y", ...cleared() })).toEqual({});
  });
});

describe("lists of values", () => {
  it.each([[[]], [["a"]], [["a", "b"]], [["a,b", "c\\d", "\\,"]]])(
    "survive a round trip: %j",
    (values: string[]) => {
      expect(splitList(joinList(values))).toEqual(values);
    },
  );

  it.each([
    [undefined, []],
    ["a,,b", ["a", "b"]],
    ["a\\", ["a\\"]],
    ["a\\,b", ["a,b"]],
  ])("are split at unescaped commas: %j", (text, values) => {
    expect(splitList(text)).toEqual(values);
  });

  it("become one chip per value", () => {
    expect(chipsOf({ q: "a,b", decision: "fallback,policy" })).toEqual([
      { name: "decision", value: "fallback" },
      { name: "decision", value: "policy" },
      { name: "q", value: "a,b" },
    ]);
  });

  it("can lose a single value", () => {
    expect(without({ decision: "fallback,policy" }, "decision", "policy")).toEqual({ decision: "fallback" });
    expect(without({ decision: "fallback" }, "decision", "fallback").decision).toBeUndefined();
    expect(without({ q: "a,b" }, "q", "a,b").q).toBeUndefined();
  });
});

describe("cliCommand", () => {
  it("uses the same filter names and quotes shell characters", () => {
    expect(cliCommand({ min_cost: "0.01", q: "it's; rm" }, { from: "now-24h" })).toBe(
      `fairlead requests list --from=now-24h --min-cost=0.01 --q='it'\\''s; rm'`,
    );
    expect(shellQuote("$HOME")).toBe("'$HOME'");
  });
});
