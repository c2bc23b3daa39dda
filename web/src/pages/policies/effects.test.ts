import { describe, expect, it } from "vitest";

import type { Policy } from "../../api/routing";
import { effects, effectsOf, effectWords, withEffect, withoutEffect } from "./effects";
import { examples, uniqueName } from "./examples";

describe("effectWords", () => {
  it.each<[Omit<Policy, "name">, string[]]>([
    [{ deny: "No." }, ["Denies: “No.”"]],
    [{ pin: "gpt-4.1" }, ["Pins gpt-4.1"]],
    [{ pin: "" }, ["Pins …"]],
    [{ allow: { tags: ["local"], models: ["a", "b"] } }, ["Allows only models a, b and tags local"]],
    [{ exclude: { providers: ["x"] } }, ["Excludes providers x"]],
    [{ exclude: {} }, ["Excludes …"]],
    [{ prefer: ["a", "b*"] }, ["Prefers a, then b*"]],
    [{ objective: "0.9" }, ["Objective: 0.9 (0 cheapest, 1 best)"]],
    [
      { max_cost_usd: "0.05", max_output_tokens: 2000 },
      ["Max $0.05000 per request", "Max 2,000 output tokens"],
    ],
    [{ max_cost_usd: "0." }, ["Max $0. per request"]],
    [{ baseline: "a", log_bodies: false }, ["Baseline: a", "Doesn’t store prompts and responses"]],
    [{ response_cache: "10m" }, ["Caches responses for 10m"]],
    [{ response_cache: "off" }, ["Doesn’t cache responses"]],
    [{}, []],
  ])("describes %j", (policy, expected) => {
    expect(effectWords({ name: "p", ...policy })).toEqual(expected);
  });
});

describe("effects of a policy", () => {
  it("are added and removed one at a time", () => {
    for (const { name } of effects) {
      const policy = withEffect({ name: "p", when: "request.auto" }, name);
      expect(effectsOf(policy)).toEqual([name]);
      expect(withoutEffect(policy, name)).toEqual({ name: "p", when: "request.auto" });
    }
  });
});

describe("uniqueName", () => {
  it("gives every inserted example a unique name", () => {
    const policies = examples.map(({ policy }) => policy);
    expect(new Set(policies.map(({ name }) => name)).size).toBe(3);
    expect(uniqueName("cost-cap", policies)).toBe("cost-cap-2");
    expect(uniqueName("cost-cap", [...policies, { name: "cost-cap-2" }])).toBe("cost-cap-3");
    expect(uniqueName("new", policies)).toBe("new");
  });
});
