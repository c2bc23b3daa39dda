import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { choiceOf, differences } from "./differences";

const candidate = (target: string, more: Partial<Schema["Candidate"]> = {}): Schema["Candidate"] => ({
  target,
  model: target,
  provider: "p",
  quality: 0.5,
  expected_cost_usd: "0.001",
  ...more,
});

const decision = (more: Partial<Schema["Decision"]> = {}): Schema["Decision"] => ({
  kind: "expected",
  input: {
    choices: 1,
    input_tokens: 5,
    model: "auto",
    needs: [],
    objective: { name: "auto", tradeoff: 0.5 },
    op: "chat",
    stream: false,
  },
  candidates: [candidate("a", { rank: 1 }), candidate("b", { rank: 2 })],
  micros: 10,
  policies: [],
  versions: { router: "1", catalog: "2" },
  ...more,
});

describe("differences", () => {
  it("is empty for equal decisions", () => {
    expect(differences({ decision: decision() }, { decision: decision({ micros: 99 }) })).toEqual([]);
  });

  it("lists the changes of a draft policy", () => {
    const changed = decision({
      kind: "policy",
      policy: "no-a",
      candidates: [
        candidate("b", { rank: 1, quality: 0.7, expected_cost_usd: "0.002" }),
        candidate("a", { excluded: { code: "excluded_by_policy", reason: "policy no-a" } }),
      ],
      policies: [{ name: "no-a", matched: true }],
      max_output: 2000,
      omit_bodies: true,
    });
    const rows = Object.fromEntries(
      differences({ decision: decision() }, { decision: changed }).map((d) => [d.field, [d.live, d.draft]]),
    );
    expect(rows).toEqual({
      "Served by": ["a", "b"],
      Decision: ["expected", "policy: no-a"],
      "Expected cost": ["$0.001000", "$0.002000"],
      "Predicted quality": ["0.50", "0.70"],
      "Matching policies": ["none", "no-a"],
      "Excluded only here": ["none", "a"],
      "Max output": ["no limit", "2,000 tokens"],
      "Prompts and responses": ["default", "not stored"],
    });
  });

  it("shows a rejection by the draft", () => {
    const refusal = { code: "POLICY_REJECTED", message: "No.", origin: "policy" as const };
    const rejected = { decision: decision(), refusal };
    expect(choiceOf(rejected)).toBeUndefined();
    expect(differences({ decision: decision() }, rejected)[0]).toEqual({
      field: "Served by",
      live: "a",
      draft: "rejected (POLICY_REJECTED)",
    });
  });
});
