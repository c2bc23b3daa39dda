import { describe, expect, it } from "vitest";

import { conditionWords, plainText } from "./condition";

const text = (cel: string) => {
  const parts = conditionWords(cel);
  return parts && plainText(parts);
};

describe("conditionWords", () => {
  it.each([
    ['request.task == "code" && key.tags["team"] == "infra"', "task is code and key tag team is infra"],
    ['key.name == "ci" && request.tokens < 2000', "key is ci and tokens < 2,000"],
    ["request.tokens >= 100000", "tokens ≥ 100,000"],
    ['key.tags.team != "infra"', "key tag team is not infra"],
    ["request.tags[\"a b\"] == 'c'", "tag a b is c"],
    ['request.task in ["code", "maths"]', "task is code or maths"],
    ["request.auto", "the model is auto"],
    ["!request.auto", "a model is named"],
    ["request.stream == false", "streaming is off"],
    ['"team" in key.tags', "key tag team is set"],
    ["!has(key.tags.long)", "key tag long is not set"],
    ['time.hour("Europe/Berlin") >= 20', "hour in Europe/Berlin ≥ 20"],
    ['request.language == ""', "language is empty"],
    ['request.audio || request.task == "vision"', "audio is included or task is vision"],
    [
      'request.auto && request.tools || key.name == "a"',
      "the model is auto and tools are included, or key is a",
    ],
    [
      "request.auto && (\n  request.tools ||\n  request.json)",
      "the model is auto and (tools are included or JSON output is required)",
    ],
    ['key.name == "a \\"quoted\\" name"', 'key is a "quoted" name'],
  ])("describes %s", (cel, expected) => {
    expect(text(cel)).toBe(expected);
  });

  it.each([
    'request.model.startsWith("gpt-")',
    'time.at < timestamp("2026-12-01T00:00:00Z")',
    "size(key.tags) > 2",
    '["a"].exists(x, request.model == x)',
    'request.task == "code" &&',
    "request.unknown == 1",
    "request.tokens",
    "request.tokens + 1 > 2",
    '!"team" in key.tags',
    "(request.auto",
    "request.stream < true",
    "",
  ])("does not describe %s", (cel) => {
    expect(text(cel)).toBeUndefined();
  });

  it("marks values for emphasis", () => {
    expect(conditionWords('request.task == "code"')).toEqual(["task", " is ", { value: "code" }]);
  });
});
