import { describe, expect, it } from "vitest";

import type { Schema } from "../../../api/client";
import { candidateDiffers, featuresOf, hitDiffers, qualityText, targetText } from "./trace";

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

  it("shows the task, the language and the similarity to training prompts", () => {
    const features = { task: "long_context", language: "de", known: 0.43, skills: [] };
    const shown = featuresOf({ ...input, predictor: "p1", features: features as Schema["Features"] });
    expect(shown.map(({ name, value }) => `${name}: ${value}`)).toEqual(
      expect.arrayContaining(["Task: long context", "Language: de", "Similar to training prompts: 43 %"]),
    );
  });
});

describe("texts of a trace", () => {
  it("show the target quality and the best available", () => {
    expect(targetText({ best: 0.97, success_probability: 0.92 })).toBe(
      "Target quality 0.92 (best available: 0.97). Cheaper models above the target win.",
    );
    expect(targetText({ best: 0.97, success_probability: 0.97 })).toBe(
      "Target quality 0.97, the best available.",
    );
  });

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
