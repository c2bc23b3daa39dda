import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { choiceOf, differences } from "./differences";

const candidate = (target: string, more: Partial<Schema["Candidate"]> = {}): Schema["Candidate"] => ({
  target,
  model: target,
  provider: "p",
  score: 1,
  quality: 0.5,
  cost: 1,
  speed: 1,
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
  it("is empty for two decisions that say the same", () => {
    expect(differences({ decision: decision() }, { decision: decision({ micros: 99 }) })).toEqual([]);
  });

  it("says what a policy of the draft changes", () => {
    const tried = decision({
      kind: "policy",
      policy: "no-a",
      candidates: [
        candidate("b", { rank: 1, quality: 0.7, expected_cost_usd: "0.002" }),
        candidate("a", { excluded: { code: "excluded_by_policy", reason: "policy no-a" } }),
      ],
      policies: [{ name: "no-a", matched: true }],
      max_output: 2000,
      hide_text: true,
    });
    const rows = Object.fromEntries(
      differences({ decision: decision() }, { decision: tried }).map((d) => [d.what, [d.live, d.draft]]),
    );
    expect(rows).toEqual({
      "served by": ["a", "b"],
      decision: ["expected", "policy: no-a"],
      "expected cost": ["$0.001000", "$0.002000"],
      "chance of a good answer": ["0.50", "0.70"],
      "policies that match": ["none", "no-a"],
      "left out only here": ["none", "a"],
      "answer at most": ["no limit", "2,000 tokens"],
      texts: ["as set elsewhere", "not stored"],
    });
  });

  it("says that the draft refuses", () => {
    const refusal = { code: "POLICY_REJECTED", message: "No.", origin: "policy" as const };
    const refused = { decision: decision(), refusal };
    expect(choiceOf(refused)).toBeUndefined();
    expect(differences({ decision: decision() }, refused)[0]).toEqual({
      what: "served by",
      live: "a",
      draft: "refused (POLICY_REJECTED)",
    });
  });
});
