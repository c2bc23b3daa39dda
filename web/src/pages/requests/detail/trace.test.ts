import { describe, expect, it } from "vitest";

import type { Schema } from "../../../api/client";
import { candidateDiffers, featuresOf, hitDiffers, qualityText } from "./trace";

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
  it("skips missing features", () => {
    expect(featuresOf(input).map(({ name, value }) => `${name}: ${value}`)).toEqual([
      "Requested model: auto",
      "Objective: auto (trade-off 0.5)",
      "Input: ≈ 1,200 tokens",
    ]);
  });

  it("shows the task, the difficulty, the language and the known words", () => {
    const features = { task: "agents", difficulty: 1.3, language: "de", known: 0.43 };
    const shown = featuresOf({ ...input, predictor: "p1", features });
    expect(shown.map(({ name, value }) => `${name}: ${value}`)).toEqual(
      expect.arrayContaining([
        "Task: Agents and tools",
        "Difficulty: 1.3",
        "Language: de",
        "Known words: 43 %",
      ]),
    );
  });
});

describe("texts of a trace", () => {
  it("show the predicted quality with its spread, if known", () => {
    expect(qualityText({ quality: 0.689, spread: 0.24 })).toBe("0.69 ± 0.24");
    expect(qualityText({ quality: 0.5 })).toBe("0.50");
  });
});

describe("differences between decisions", () => {
  const candidate = (target: string, more: Partial<Schema["Candidate"]>) =>
    ({
      target,
      model: target,
      provider: "p",
      quality: 0,
      ...more,
    }) as Schema["Candidate"];
  const other = {
    candidates: [
      candidate("a", { rank: 1 }),
      candidate("b", { rank: 2 }),
      candidate("c", { excluded: { code: "x", reason: "r" } }),
    ],
  } as Schema["Decision"];

  it("include candidates with another choice or exclusion, but not another rank", () => {
    expect(candidateDiffers(candidate("a", { rank: 1 }), other)).toBe(false);
    expect(candidateDiffers(candidate("a", { rank: 2 }), other)).toBe(true);
    expect(candidateDiffers(candidate("b", { rank: 3 }), other)).toBe(false);
    expect(candidateDiffers(candidate("b", { rank: 1 }), other)).toBe(true);
    expect(candidateDiffers(candidate("c", { rank: 3 }), other)).toBe(true);
    expect(candidateDiffers(candidate("c", { excluded: { code: "x", reason: "r" } }), other)).toBe(false);
    expect(candidateDiffers(candidate("a", { rank: 2 }), undefined)).toBe(false);
  });

  it("include policies that are new or have another effect", () => {
    const hits = [{ name: "a", source: "workspace", matched: true, effect: "pin x" }];
    expect(hitDiffers({ name: "a", source: "workspace", matched: true, effect: "pin x" }, hits)).toBe(false);
    expect(hitDiffers({ name: "a", source: "workspace", matched: true, effect: "pin y" }, hits)).toBe(true);
    expect(hitDiffers({ name: "a", source: "instance", matched: true, effect: "pin x" }, hits)).toBe(true);
    expect(hitDiffers({ name: "b", source: "workspace", matched: false }, hits)).toBe(true);
    expect(hitDiffers({ name: "b", source: "workspace", matched: false }, undefined)).toBe(false);
  });
});
