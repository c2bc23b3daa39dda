import { describe, expect, it } from "vitest";

import { answerMessages, requestMessages } from "./conversation";

describe("requestMessages", () => {
  it("parses text, parts and tool calls, and does not load images", () => {
    const body = {
      messages: [
        { role: "system", content: "be brief" },
        {
          role: "user",
          content: [
            { type: "text", text: "what is it?" },
            { type: "image_url", image_url: { url: "https://x" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ function: { name: "look", arguments: '{"at":"it"}' } }],
        },
      ],
    };
    expect(requestMessages(JSON.stringify(body))).toEqual([
      { role: "system", parts: [{ kind: "text", text: "be brief" }] },
      {
        role: "user",
        parts: [
          { kind: "text", text: "what is it?" },
          { kind: "image", label: "Image, not loaded: https://x" },
        ],
      },
      { role: "assistant", parts: [{ kind: "call", name: "look", args: '{\n  "at": "it"\n}' }] },
    ]);
  });

  it("parses the inputs of embeddings", () => {
    expect(requestMessages('{"input":["a","b"]}')).toHaveLength(2);
  });

  it.each([null, "", "not json", "[]", "{}"])("rejects %j", (text) => {
    expect(requestMessages(text)).toBeUndefined();
  });
});

describe("answerMessages", () => {
  it("assembles the chunks of a stream", () => {
    const chunk = (delta: unknown) => "data: " + JSON.stringify({ choices: [{ index: 0, delta }] });
    const text = [
      chunk({ role: "assistant", content: "Hel" }),
      chunk({ content: "lo" }),
      chunk({ tool_calls: [{ index: 0, function: { name: "f", arguments: "{" } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: "}" } }] }),
      "data: [DONE]",
    ].join("\n");
    expect(answerMessages(text, true)).toEqual([
      {
        role: "assistant",
        parts: [
          { kind: "text", text: "Hello" },
          { kind: "call", name: "f", args: "{}" },
        ],
      },
    ]);
  });

  it("counts the vectors of an embedding", () => {
    const labels = (data: unknown[]) => answerMessages(JSON.stringify({ data }), false)?.[0]?.parts;
    expect(labels([{}])).toEqual([{ kind: "other", label: "1 vector" }]);
    expect(labels([{}, {}])).toEqual([{ kind: "other", label: "2 vectors" }]);
  });

  it("parses a complete response, even if it is marked as streamed", () => {
    const whole = JSON.stringify({ choices: [{ message: { role: "assistant", content: "Hi" } }] });
    for (const streamed of [false, true]) {
      expect(answerMessages(whole, streamed)).toEqual([
        { role: "assistant", parts: [{ kind: "text", text: "Hi" }] },
      ]);
    }
  });
});
