import { describe, expect, it } from "vitest";

import type { Policy } from "../../api/routing";
import { effects, effectsOf, effectWords, withEffect, withoutEffect } from "./effects";
import { examples, freeName } from "./examples";

describe("effectWords", () => {
  it.each<[Omit<Policy, "name">, string[]]>([
    [{ deny: "No." }, ["refuses: “No.”"]],
    [{ pin: "gpt-4.1" }, ["pins gpt-4.1"]],
    [{ pin: "" }, ["pins …"]],
    [{ allow: { tags: ["local"], models: ["a", "b"] } }, ["allows only models a, b and tags local"]],
    [{ exclude: { providers: ["x"] } }, ["leaves out providers x"]],
    [{ exclude: {} }, ["leaves out …"]],
    [{ prefer: ["a", "b*"] }, ["prefers a, then b*"]],
    [{ objective: "0.9" }, ["aims for 0.9 (0 cheapest, 1 best)"]],
    [
      { max_cost_usd: "0.05", max_output_tokens: 2000 },
      ["at most $0.05000 a request", "answers of at most 2,000 tokens"],
    ],
    [{ max_cost_usd: "0." }, ["at most $0. a request"]],
    [{ baseline: "a", log_bodies: false }, ["savings against a", "texts are not stored"]],
    [{}, []],
  ])("says what %j does", (policy, expected) => {
    expect(effectWords({ name: "p", ...policy })).toEqual(expected);
  });
});

describe("effects of a policy", () => {
  it("come and go one at a time", () => {
    for (const { name } of effects) {
      const policy = withEffect({ name: "p", when: "request.auto" }, name);
      expect(effectsOf(policy)).toEqual([name]);
      expect(withoutEffect(policy, name)).toEqual({ name: "p", when: "request.auto" });
    }
  });
});

describe("freeName", () => {
  it("gives every inserted example a name of its own", () => {
    const policies = examples.map(({ policy }) => policy);
    expect(new Set(policies.map(({ name }) => name)).size).toBe(3);
    expect(freeName("cost-cap", policies)).toBe("cost-cap-2");
    expect(freeName("cost-cap", [...policies, { name: "cost-cap-2" }])).toBe("cost-cap-3");
    expect(freeName("new", policies)).toBe("new");
  });
});
