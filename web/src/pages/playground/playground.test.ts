import { describe, expect, test } from "vitest";

import { ApiError } from "../../api/errors";
import { choicesOf } from "./Differences";
import {
  bodyOf,
  messagesOf,
  noParameters,
  parametersSummary,
  promptOf,
  replayOf,
  toolsProblem,
  type Turn,
} from "./draft";
import {
  addChunk,
  type Chunk,
  factsOfHeaders,
  factsOfTrace,
  newRun,
  type Run,
  savedOf,
  savedPercent,
  sumRuns,
} from "./run";
import { costsOf, dollarText, formatRatio, ratioOf, spreadOf, timesAmount, timesOf } from "./spread";

function stream(...chunks: Chunk[]): Run {
  return chunks.reduce((run, chunk, i) => addChunk(run, chunk, 100 * (i + 1)), newRun());
}

function text(content: string): Chunk {
  return { choices: [{ delta: { content } }] };
}

function ended(facts: Run["facts"], state: Run["state"] = "done"): Run {
  return { ...newRun(), state, facts };
}

describe("a run", () => {
  test("takes the decision from headers and ignores empty ones", () => {
    const headers = new Headers({
      "X-Request-Id": "req_1",
      "X-Fairlead-Decision": "fallback",
      "X-Fairlead-Model": "small",
      "X-Fairlead-Attempts": "2",
      "X-Fairlead-Policy": "",
    });
    expect(factsOfHeaders(headers)).toEqual({
      requestId: "req_1",
      decision: "fallback",
      model: "small",
      attempts: 2,
    });
  });

  test("measures the first token that is not empty", () => {
    const run = stream({ choices: [{ delta: { content: "" } }] }, text("a"), text("b"));
    expect(run).toMatchObject({ state: "streaming", text: "ab", ttftMs: 200 });
  });

  test("assembles tool calls from chunks", () => {
    const chunk = (index: number, name?: string, args?: string): Chunk => ({
      choices: [{ delta: { tool_calls: [{ index, function: { name, arguments: args } }] } }],
    });
    const run = stream(
      chunk(0, "weather", ""),
      chunk(0, undefined, '{"city"'),
      chunk(1, "time", "{}"),
      chunk(0, undefined, ':"Oslo"}'),
    );
    expect(run.calls).toEqual([
      { name: "weather", arguments: '{"city":"Oslo"}' },
      { name: "time", arguments: "{}" },
    ]);
    expect(run.ttftMs).toBe(100);
  });

  test("adds usage and cost from the last chunk and keeps the facts of the headers", () => {
    const before: Run = { ...newRun(), facts: { requestId: "req_1", policy: "cheap", model: "small" } };
    const run = addChunk(
      before,
      {
        choices: [{ delta: {}, finish_reason: "stop" }],
        fairlead: {
          cost_usd: "0.1",
          baseline_cost_usd: null,
          decision: "",
          usage: { input: 1, cache_read: 0, cache_write: 0, output: 2, reasoning: 0 },
        },
      },
      5,
    );
    expect(run.finish).toBe("stop");
    expect(run.facts).toMatchObject({
      requestId: "req_1",
      policy: "cheap",
      model: "small",
      cost: "0.1",
      baselineCost: null,
    });
    expect(run.facts.tokens?.output).toBe(2);
  });

  test("has an empty candidate list and no tokens when the trace has none", () => {
    const facts = factsOfTrace({
      trace: { candidates: null } as never,
      usage: { input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 },
    });
    expect(facts.trace?.candidates).toEqual([]);
    expect(facts.tokens).toBeUndefined();
  });

  test.each([
    { name: "cheaper", facts: { cost: "0.1", baselineCost: "0.4" }, saved: "0.3", percent: 75 },
    {
      name: "more expensive",
      facts: { cost: "0.000000003", baselineCost: "0.000000001" },
      saved: "-0.000000002",
      percent: -200,
    },
    { name: "unknown baseline", facts: { cost: "0.1", baselineCost: null }, saved: null, percent: null },
    { name: "free baseline", facts: { cost: "0", baselineCost: "0" }, saved: "0", percent: null },
  ])("saved: $name", ({ facts, saved, percent }) => {
    expect(savedOf(facts)).toBe(saved);
    expect(savedPercent(facts)?.toFixed(3) ?? null).toBe(percent?.toFixed(3) ?? null);
  });
});

describe("differences", () => {
  const done = (text: string): Run => ({ ...newRun(), state: "done", text });
  const columns = [
    { id: "a", label: "small" },
    { id: "b", label: "large" },
  ];
  const responses: Record<string, Run[]> = { a: [done("one"), newRun(), done("two")], b: [done("three")] };
  const choices = (baseline: string, of = columns) =>
    choicesOf({
      columns: of,
      baseline,
      runOf: (column) => responses[column]?.[0],
      repeatsOf: (column) => responses[column] ?? [],
    });

  test("compares columns with the baseline, and the finished responses of one column", () => {
    expect(choices("b")).toEqual([
      {
        value: "columns",
        label: "All columns with the baseline",
        base: { label: "large (baseline)", text: "three" },
        others: [{ id: "a", label: "small", text: "one" }],
      },
      {
        value: "a",
        label: "Responses from 1. small",
        base: { label: "response 1", text: "one" },
        others: [{ label: "response 3", text: "two" }],
      },
    ]);
  });

  test("requires two responses", () => {
    expect(choices("b", columns.slice(1))).toEqual([]);
    expect(choices("a", columns.slice(0, 1)).map(({ label }) => label)).toEqual(["Responses from small"]);
    expect(choices("logged").map(({ value }) => value)).toEqual(["a"]);
  });
});

describe("totals", () => {
  const tokens = { input: 10, cache_read: 5, cache_write: 0, output: 7, reasoning: 0 };

  test("are exact and skip running runs", () => {
    const totals = sumRuns([
      ended({ cost: "0.000000001", baselineCost: "0.000000003", tokens }),
      ended({ cost: "0.1", baselineCost: "0.2", tokens }),
      { ...newRun(), state: "streaming" },
    ]);
    expect(totals).toEqual({
      runs: 2,
      failed: 0,
      cost: "0.100000001",
      baselineCost: "0.200000003",
      saved: "0.100000002",
      tokensIn: 30,
      tokensOut: 14,
    });
  });

  test("are unknown if one amount is unknown", () => {
    expect(sumRuns([ended({ cost: "0.1", baselineCost: "0.2" }), ended({}, "stopped")]).cost).toBeNull();
  });

  test("ignore a failed run without cost", () => {
    const failed: Run = { ...ended({ cost: null }, "failed"), error: new ApiError("X", "x", 502, "") };
    expect(sumRuns([ended({ cost: "0.1", baselineCost: "0.2" }), failed])).toMatchObject({
      cost: "0.1",
      failed: 1,
      runs: 2,
    });
  });
});

describe("a body", () => {
  test("contains only the parameters that are set", () => {
    expect(bodyOf("auto", [{ role: "user", content: "Hi" }], noParameters)).toEqual({
      model: "auto",
      messages: [{ role: "user", content: "Hi" }],
    });
  });

  test("contains every parameter and the fault", () => {
    const tools = '[{"type":"function","function":{"name":"f"}}]';
    const body = bodyOf(
      "m",
      [],
      { system: "s", temperature: 0, maxTokens: 5, json: true, tools },
      { name: "429", model: "m" },
    );
    expect(body).toEqual({
      model: "m",
      messages: [],
      temperature: 0,
      max_tokens: 5,
      response_format: { type: "json_object" },
      tools: [{ type: "function", function: { name: "f" } }],
      metadata: { simulate: "429@m" },
    });
  });

  const answered = (id: number, prompt: Turn["prompt"], answer: string): Turn => ({
    id,
    prompt,
    runs: { a: { ...newRun(), text: answer } },
    more: {},
    repeats: 1,
    running: false,
  });

  test("skips turns without a response in the column", () => {
    const turns = [answered(1, { text: "one" }, "1"), answered(2, { text: "two" }, "")];
    const before = { system: "be short", earlier: [{ role: "user", content: "zero" }] };
    expect(messagesOf(turns, "a", before, { text: "three" }).map((m) => m.content)).toEqual([
      "be short",
      "zero",
      "one",
      "1",
      "three",
    ]);
    expect(
      messagesOf(turns, "b", { system: " ", earlier: [] }, { text: "three" }).map((m) => m.content),
    ).toEqual(["three"]);
  });

  test("contains a stored prompt with its images and tool results", () => {
    const stored = {
      text: "look",
      content: [{ type: "image_url" }],
      after: [{ role: "tool", content: "42" }],
    };
    const none = { system: "", earlier: [] };
    expect(messagesOf([], "a", none, stored)).toEqual([
      { role: "user", content: [{ type: "image_url" }] },
      { role: "tool", content: "42" },
    ]);
    expect(messagesOf([answered(1, stored, "ok")], "a", none, { text: "next" }).map((m) => m.role)).toEqual([
      "user",
      "tool",
      "assistant",
      "user",
    ]);
  });

  test("contains the settings of a stored request", () => {
    expect(bodyOf("m", [], noParameters, undefined, { tool_choice: "auto", model: "x" })).toEqual({
      model: "m",
      messages: [],
      tool_choice: "auto",
    });
  });

  test.each([
    { text: "", want: undefined },
    { text: "{", want: /^Invalid JSON/ },
    { text: "{}", want: /list/ },
    { text: "[]", want: /list/ },
    { text: '[{"type":"function","function":{"name":"f"}},null]', want: /^Tool 2/ },
  ])("tools $text", ({ text: tools, want }) => {
    if (want) {
      expect(toolsProblem(tools)).toMatch(want);
    } else {
      expect(toolsProblem(tools)).toBeUndefined();
    }
  });

  test("has a summary of the parameters that are set", () => {
    expect(parametersSummary(noParameters)).toBe("defaults");
    expect(parametersSummary({ ...noParameters, temperature: 0, json: true })).toBe("temperature 0 · JSON");
  });
});

describe("a replay", () => {
  test("splits a stored request into its parts", () => {
    const image = [{ type: "text", text: "two" }, { type: "image_url" }];
    const body = {
      model: "small",
      temperature: 0.2,
      max_completion_tokens: 50,
      tool_choice: "required",
      user: "someone",
      session_id: "s",
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content: "one" },
        { role: "assistant", content: "1" },
        { role: "user", content: image },
        { role: "assistant", content: null, tool_calls: [] },
        { role: "tool", content: "[redacted: email]" },
      ],
    };
    const replay = replayOf(JSON.stringify(body));
    expect(replay).toEqual({
      model: "small",
      prompt: "two",
      stored: { text: "two", content: image, after: body.messages.slice(4) },
      otherParts: true,
      redacted: true,
      settings: { tool_choice: "required" },
      earlier: [
        { role: "user", content: "one" },
        { role: "assistant", content: "1" },
      ],
      parameters: { system: "Be short.", temperature: 0.2, maxTokens: 50, json: false, tools: "" },
    });
    expect(promptOf("two", replay)).toBe(replay?.stored);
    expect(promptOf("two and more", replay)).toEqual({ text: "two and more" });
    expect(promptOf("two", undefined)).toEqual({ text: "two" });
  });

  test.each(["nonsense", '{"input":"x"}'])("is undefined for %s", (text) => {
    expect(replayOf(text)).toBeUndefined();
  });
});

describe("repeats", () => {
  const run = (cost: string | null, totalMs: number, state: Run["state"] = "done"): Run => ({
    ...ended({ cost }, state),
    totalMs,
  });
  const turn = (columns: Record<string, Run[]>): Turn => ({
    id: 1,
    prompt: { text: "" },
    runs: Object.fromEntries(Object.entries(columns).map(([id, [first]]) => [id, first as Run])),
    more: Object.fromEntries(Object.entries(columns).map(([id, runs]) => [id, runs.slice(1)])),
    repeats: 3,
    running: false,
  });

  test("have a mean and a standard deviation", () => {
    expect(spreadOf([])).toBeUndefined();
    expect(spreadOf([5])).toEqual({ count: 1, mean: 5, deviation: null });
    expect(spreadOf([2, 4, 4, 4, 5, 5, 7, 9])).toMatchObject({ count: 8, mean: 5 });
    expect(spreadOf([2, 4, 4, 4, 5, 5, 7, 9])?.deviation).toBeCloseTo(2.138, 3);
  });

  test("count known costs of ended runs and times of complete ones", () => {
    const runs = [run("0.1", 100), run(null, 200), run("0.3", 300, "stopped"), { ...newRun() }];
    expect(costsOf(runs)).toEqual([0.1, 0.3]);
    expect(timesOf(runs)).toEqual([100, 200]);
  });

  test("are compared by their mean, on prompts that both columns answered", () => {
    const both = turn({ a: [run("0.1", 100), run("0.3", 300)], b: [run("0.4", 100)] });
    const only = turn({ a: [run("9", 9)] });
    expect(ratioOf([both, only], "a", "b", costsOf)).toBeCloseTo(0.5);
    expect(ratioOf([both, only], "a", "b", timesOf)).toBeCloseTo(2);
    expect(ratioOf([only], "a", "b", costsOf)).toBeUndefined();
    expect(ratioOf([turn({ a: [run("1", 1)], b: [run("0", 1)] })], "a", "b", costsOf)).toBeUndefined();
  });

  test.each([
    [undefined, "—"],
    [0, "×0"],
    [0.001, "<×0.01"],
    [0.324, "×0.32"],
    [0.999, "×1.0"],
    [14.2, "×14"],
  ])("ratio %s", (ratio, want) => {
    expect(formatRatio(ratio)).toBe(want);
  });

  test("multiply amounts exactly", () => {
    expect(timesAmount("0.000000001", 3)).toBe("0.000000003");
    expect(timesAmount(null, 3)).toBeNull();
    expect(dollarText(0.1 + 0.2)).toBe("0.3");
  });
});
