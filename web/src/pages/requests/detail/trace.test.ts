import { describe, expect, it } from "vitest";

import type { Schema } from "../../../api/client";
import { aimWords, candidateDiffers, chanceWords, featuresOf, hitDiffers } from "./trace";

const input: Schema["Input"] = {
  choices: 1,
  input_tokens: 1200,
  model: "auto",
  needs: [],
  objective: { name: "auto", tradeoff: 0.5 },
  op: "chat",
  stream: false,
};

describe("featuresOf", () => {
  it("leaves out what was not seen", () => {
    expect(featuresOf(input).map(({ name, value }) => `${name}: ${value}`)).toEqual([
      "asked for: auto",
      "objective: auto (trade-off 0.5)",
      "input: ≈ 1,200 tokens",
    ]);
  });

  it("says the task, the language and how like known prompts it is", () => {
    const sketch = { task: "long_context", language: "de", known: 0.43, skills: [] };
    const seen = featuresOf({ ...input, predictor: "p1", sketch: sketch as Schema["Features"] });
    expect(seen.map(({ name, value }) => `${name}: ${value}`)).toEqual(
      expect.arrayContaining(["task: long context", "language: de", "like known prompts: 43 %"]),
    );
  });
});

describe("words of a trace", () => {
  it("says what was aimed at", () => {
    expect(aimWords({ best: 0.97, chance: 0.92 })).toContain("aimed at 0.92, and more is not paid for");
    expect(aimWords({ best: 0.97, chance: 0.97 })).toContain("that is what was aimed at");
  });

  it("gives a chance with its spread where there is one", () => {
    expect(chanceWords({ quality: 0.689, spread: 0.24 })).toBe("0.69 ± 0.24");
    expect(chanceWords({ quality: 0.5 })).toBe("0.50");
  });
});

describe("marks of what differs", () => {
  const candidate = (target: string, more: Partial<Schema["Candidate"]>) =>
    ({
      target,
      model: target,
      provider: "p",
      score: 0,
      quality: 0,
      cost: 0,
      speed: 0,
      ...more,
    }) as Schema["Candidate"];
  const other = {
    candidates: [
      candidate("a", { rank: 1 }),
      candidate("b", { rank: 2 }),
      candidate("c", { excluded: { code: "x", reason: "r" } }),
    ],
  } as Schema["Decision"];

  it("marks candidates that are chosen or excluded otherwise, and not another rank", () => {
    expect(candidateDiffers(candidate("a", { rank: 1 }), other)).toBe(false);
    expect(candidateDiffers(candidate("a", { rank: 2 }), other)).toBe(true);
    expect(candidateDiffers(candidate("b", { rank: 3 }), other)).toBe(false);
    expect(candidateDiffers(candidate("b", { rank: 1 }), other)).toBe(true);
    expect(candidateDiffers(candidate("c", { rank: 3 }), other)).toBe(true);
    expect(candidateDiffers(candidate("c", { excluded: { code: "x", reason: "r" } }), other)).toBe(false);
    expect(candidateDiffers(candidate("a", { rank: 2 }), undefined)).toBe(false);
  });

  it("marks policies that are new or do something else", () => {
    const hits = [{ name: "a", source: "workspace", matched: true, effect: "pin x" }];
    expect(hitDiffers({ name: "a", source: "workspace", matched: true, effect: "pin x" }, hits)).toBe(false);
    expect(hitDiffers({ name: "a", source: "workspace", matched: true, effect: "pin y" }, hits)).toBe(true);
    expect(hitDiffers({ name: "a", source: "instance", matched: true, effect: "pin x" }, hits)).toBe(true);
    expect(hitDiffers({ name: "b", source: "workspace", matched: false }, hits)).toBe(true);
    expect(hitDiffers({ name: "b", source: "workspace", matched: false }, undefined)).toBe(false);
  });
});
