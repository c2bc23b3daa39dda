import { expect, it } from "vitest";

import type { Message } from "./conversation";
import { previewOf, textOf, threadOf } from "./thread";

const text = (role: string, content: string): Message => ({ role, parts: [{ kind: "text", text: content }] });
const call = (id: string, name: string): Message => ({
  role: "assistant",
  parts: [{ kind: "call", id, name, args: "{}" }],
});
const result = (id: string, content: string): Message => ({ ...text("tool", content), callId: id });

it("splits a conversation into system prompt, earlier turns and the last turn", () => {
  const thread = threadOf(
    [
      text("system", "s"),
      text("developer", "d"),
      text("user", "1"),
      text("assistant", "2"),
      text("user", "3"),
    ],
    [text("assistant", "4")],
  );
  const texts = (items: { parts: Message["parts"]; number: number }[]) =>
    items.map((item) => `${item.number} ${textOf(item)}`);
  expect(texts(thread.system)).toEqual(["1 s", "2 d"]);
  expect(texts(thread.earlier)).toEqual(["3 1", "4 2"]);
  expect(texts(thread.last)).toEqual(["5 3", "6 4"]);
});

it("shows everything as the last turn without a message of the user", () => {
  expect(threadOf([text("input", "a"), text("input", "b")], []).last).toHaveLength(2);
  expect(threadOf([text("system", "a")], [])).toMatchObject({
    system: [{ number: 1 }],
    earlier: [],
    last: [],
  });
});

it("joins tool calls with their results", () => {
  const messages = [text("user", "q"), call("a", "look"), result("a", "found"), result("x", "lost")];
  const { last } = threadOf(messages, [text("assistant", "done")]);
  expect(last.map(({ role, number }) => [role, number])).toEqual([
    ["user", 1],
    ["assistant", 2],
    ["tool", 4],
    ["assistant", 5],
  ]);
  expect(last[1]?.parts[0]).toMatchObject({ name: "look", result: { parts: [{ text: "found" }] } });
  expect(messages[1]?.parts[0]).not.toHaveProperty("result"); // the input is not changed
});

it("keeps a second result of the same call, and results of repeated ids", () => {
  const { last } = threadOf(
    [call("a", "one"), result("a", "1"), result("a", "again"), call("a", "two"), result("a", "2")],
    [],
  );
  expect(last.map(({ role }) => role)).toEqual(["assistant", "tool", "assistant"]);
  expect(last[2]?.parts[0]).toMatchObject({ name: "two", result: { parts: [{ text: "2" }] } });
});

it("previews a message on one line", () => {
  expect(previewOf(text("user", " a\n\n b "))).toBe("a b");
  expect(previewOf({ parts: [] })).toBe("Empty message");
  expect(previewOf(call("a", "look"))).toBe("look({})");
  expect(previewOf(text("user", "x".repeat(300)))).toHaveLength(161);
});
