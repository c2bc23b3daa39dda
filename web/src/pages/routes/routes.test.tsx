import { describe, expect, it } from "vitest";

import {
  dialText,
  effortText,
  pinned,
  poolChoices,
  type Route,
  routeBody,
  routeDraft,
  shareText,
} from "./draft";

const entry = (model: string) => ({
  model,
  offered: true,
  input_per_mtok_usd: "1",
  output_per_mtok_usd: "4",
  quality: 0.8,
  released: "2026-05",
  why: "the cheapest",
});

const auto: Route = {
  name: "auto",
  source: "built_in",
  pinned: false,
  pool: [entry("small"), entry("large")],
  missing: [],
  tradeoff: 0.5,
  min_effort: "",
  max_effort: "",
  shares: [],
};

describe("drafts of routes", () => {
  it("keep the default pool unless it is pinned", () => {
    expect(routeBody(routeDraft(auto))?.pool).toEqual([]);
    expect(routeBody(pinned(auto))?.pool).toEqual(["small", "large"]);
    expect(routeDraft({ ...auto, pinned: true }).pool).toEqual(["small", "large"]);
  });

  it("are incomplete without a name or with half a share", () => {
    expect(routeBody(routeDraft())).toBeUndefined();
    expect(routeBody({ ...routeDraft(auto), shares: [{ model: "small", percent: "" }] })).toBeUndefined();
    expect(routeBody({ ...routeDraft(auto), shares: [{ model: "", percent: "" }] })?.shares).toEqual([]);
    expect(routeBody({ ...routeDraft(auto), shares: [{ model: "small", percent: 5 }] })?.shares).toEqual([
      { model: "small", percent: 5 },
    ]);
  });
});

describe("texts of routes", () => {
  it("say what a share and the dial do", () => {
    expect(shareText({ model: "gpt-6-luna", percent: 5 })).toBe("5 % of sessions go to gpt-6-luna");
    expect([0, 0.3, 0.5, 0.8, 1].map(dialText)).toEqual([
      "Cheapest",
      "Cheaper than balanced (0.30)",
      "Balanced",
      "Better than balanced (0.80)",
      "Best",
    ]);
    expect(effortText({ ...auto, min_effort: "low", max_effort: "high" })).toBe(
      "Reasoning effort from low to high",
    );
    expect(effortText({ ...auto, max_effort: "low" })).toBe("Reasoning effort up to low");
  });

  it("offer the models of the pools and those that are left out", () => {
    const left = [{ model: "odd", reason: "unpriced: add a price", unpriced: true }];
    expect(poolChoices({ routes: [auto], left, changes: [], editable: true })).toEqual([
      "large",
      "odd",
      "small",
    ]);
  });
});
