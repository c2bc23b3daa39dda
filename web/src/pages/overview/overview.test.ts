import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { type AttentionItem, groupItems, linkOf, splitTimes } from "./attention";
import {
  changeText,
  coverageText,
  type Dimension,
  facetsOf,
  failureShare,
  failureText,
  unlisted,
  type Figures,
  figureFilters,
  rateText,
  requestsSearch,
  simulatedFilter,
  simulatedOf,
} from "./figures";
import { rangeOf, invalidEnds } from "../../lib/range";
import { refreshedText } from "./LiveControls";

describe("changeText", () => {
  it.each([
    ["1.03", "1", "+3 % vs previous"],
    ["0.5", "1", "−50 % vs previous"],
    ["1.001", "1", "Same as previous"],
    ["30", "1", "×30 vs previous"],
    ["1", "0", "None in the previous period"],
    ["0", "0", undefined],
    ["0", "2", "−100 % vs previous"],
  ])("compares %s with %s", (now, before, text) => expect(changeText(now, before, true)).toBe(text));

  it("accepts numbers", () => expect(changeText(110, 100, true)).toBe("+10 % vs previous"));

  it("does not compare with an incomplete period", () => {
    expect(changeText(677, 100, false)).toBe("Previous period incomplete");
    expect(changeText(5, 0, false)).toBe("Previous period incomplete");
    expect(changeText(0, 0, false)).toBeUndefined();
  });
});

describe("failures of a breakdown row", () => {
  const group = (more: object) =>
    ({ requests: 0, errors: 0, attempts: 0, failed_attempts: 0, ...more }) as Schema["FigureGroup"];
  it.each<[string, Schema["FigureGroup"], Dimension, string, number | null]>([
    [
      "attempts of a model",
      group({ attempts: 12, failed_attempts: 12 }),
      "model",
      "100.0 % of 12 attempts",
      1,
    ],
    [
      "requests of a key",
      group({ requests: 8, errors: 2, attempts: 9, failed_attempts: 3 }),
      "key",
      "25.0 % of 8 requests",
      0.25,
    ],
    ["figures without attempts", group({ requests: 1 }), "provider", "0.0 % of 1 request", 0],
    ["nothing", group({}), "policy", "—", null],
  ])("are a share of %s", (_, row, dimension, text, share) => {
    expect(failureText(row, dimension)).toBe(text);
    expect(failureShare(row, dimension)).toBe(share);
  });
});

describe("rateText", () => {
  it.each([
    [129_600, "1.5 / s"],
    [17_280, "12 / min"],
    [240, "10 / h"],
    [12, "0.5 / h"],
  ])("shows %d requests per day as %s", (requests, text) =>
    expect(rateText(requests, 86_400_000)).toBe(text),
  );

  it("is empty for an empty range", () => expect(rateText(5, 0)).toBe(""));
});

describe("coverageText", () => {
  const figures = (compared: number, served: number) => ({ compared, served }) as Figures;
  it("never rounds up to all", () => {
    expect(coverageText(figures(99_999, 100_000))).toBe("Baseline known for 99.9 % of served requests");
    expect(coverageText(figures(100_000, 100_000))).toBe("Baseline known for all served requests");
    expect(coverageText(figures(982, 1000))).toBe("Baseline known for 98.2 % of served requests");
  });
});

describe("simulated requests", () => {
  it("are excluded unless included or the only ones possible", () => {
    expect(simulatedFilter(undefined, false)).toBe("false");
    expect(simulatedFilter(undefined, true)).toBeUndefined();
    expect(simulatedFilter("include", false)).toBeUndefined();
    expect(simulatedFilter("false", true)).toBe("false");
    expect(simulatedFilter("true", false)).toBe("true");
  });

  it("accept only known values from the URL", () => {
    expect(simulatedOf({ simulated: "include" })).toBe("include");
    expect(simulatedOf({ simulated: "perhaps" })).toBeUndefined();
  });
});

describe("filters", () => {
  it("keep only those that roll-ups support", () => {
    expect(figureFilters({ model: "a,b", key: "k", min_cost: "1" })).toEqual({
      model: "a,b",
      key: "k",
      provider: undefined,
      policy: undefined,
    });
  });

  it("use the default range when the URL is invalid", () => {
    expect(rangeOf({})).toEqual({ from: "now-24h" });
    expect(rangeOf({ from: "now-7d", to: "now-1d" })).toEqual({ from: "now-7d", to: "now-1d" });
    expect(rangeOf({ from: "nonsense", to: "yesterday" })).toEqual({ from: "now-24h" });
    expect(invalidEnds({ from: "nonsense", to: "now-1h" })).toEqual(["nonsense"]);
    expect(invalidEnds({ from: "now-1h" })).toEqual([]);
  });

  it("open requests with the same filters and range, and more", () => {
    expect(
      requestsSearch({ model: "a", key: "k" }, { from: "now-24h" }, { model: "b", preset: "errors" }),
    ).toEqual({
      model: "b",
      key: "k",
      preset: "errors",
      from: "now-24h",
      to: undefined,
    });
  });

  it("count the requests that are in no breakdown row", () => {
    const rows = [{ requests: 7 }, { requests: 2 }] as never[];
    expect([unlisted(rows, 12), unlisted(rows, 9), unlisted([], 0)]).toEqual([3, 0, 0]);
  });

  it("offer the named values of the breakdown", () => {
    const group = (name: string, label: string, requests: number) => ({ name, label, requests }) as never;
    const facets = facetsOf({
      model: [group("m", "m", 2), group("", "", 1)],
      provider: [],
      key: [group("key_1", "ci", 3)],
      policy: [],
    });
    expect(facets.model).toEqual([{ value: "m", label: "m", count: 2 }]);
    expect(facets.key).toEqual([{ value: "key_1", label: "ci", count: 3 }]);
  });
});

describe("attention", () => {
  const item = (kind: AttentionItem["kind"], object: string): AttentionItem => ({
    kind,
    severity: "warning",
    object,
    label: object,
    message: "",
  });

  it("groups items by kind and keeps the order", () => {
    const groups = groupItems([
      item("circuit_open", "a/b"),
      item("key_expiring", "k"),
      item("circuit_open", "a/c"),
    ]);
    expect(groups.map((g) => [g.kind, g.items.length])).toEqual([
      ["circuit_open", 2],
      ["key_expiring", 1],
    ]);
  });

  it("links to the page to fix each kind", () => {
    expect(linkOf("circuit_open", "openai/org/model")).toMatchObject({
      to: "/routing/models",
      search: { q: "org/model" },
    });
    expect(linkOf("price_unknown")).toMatchObject({ search: { show: "unpriced" } });
    expect(linkOf("budget_over", "key_1").to).toBe("/budgets");
    expect(linkOf("no_provider").to).toBe("/providers");
  });

  it("finds the times in a message", () => {
    expect(splitTimes("This key ends on 2026-11-18T04:22:57Z.")).toEqual([
      { text: "This key ends on ", time: false },
      { text: "2026-11-18T04:22:57Z", time: true },
      { text: ".", time: false },
    ]);
    expect(splitTimes("No time")).toEqual([{ text: "No time", time: false }]);
  });
});

describe("refreshedText", () => {
  it.each([
    [-300, "just now"],
    [4200, "just now"],
    [42_000, "42 s ago"],
    [125_000, "2 min ago"],
    [7_300_000, "2 h ago"],
  ])("shows %d ms as %s", (ms, text) => expect(refreshedText(ms)).toBe(text));
});
