import { expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { changeText, comparedIds, lastTurn, shadowRecord, shadowWindow, togglePick } from "./compare";

it("selects at most two requests", () => {
  expect(togglePick([], "a")).toEqual(["a"]);
  expect(togglePick(["a"], "b")).toEqual(["a", "b"]);
  expect(togglePick(["a", "b"], "c")).toEqual(["b", "c"]);
  expect(togglePick(["a", "b"], "a")).toEqual(["b"]);
});

it("reads both requests from the URL", () => {
  expect(comparedIds({ a: "req_1", b: "req_2" })).toEqual(["req_1", "req_2"]);
  expect(comparedIds({ a: "req_1" })).toBeUndefined();
});

it("takes the last prompt and the response of a conversation", () => {
  const body = {
    request: JSON.stringify({
      messages: [
        { role: "system", content: "s" },
        { role: "user", content: "one" },
        { role: "assistant", content: "two" },
        { role: "user", content: "three" },
      ],
    }),
    response: JSON.stringify({ choices: [{ message: { role: "assistant", content: "four" } }] }),
    chat_request: null,
    chat_response: null,
    streamed: false,
  } as Schema["RequestBody"];
  expect(lastTurn(body)).toEqual({ prompt: "three", response: "four" });
  expect(lastTurn({ ...body, response: "no json" })).toEqual({ prompt: "three", response: "no json" });
});

it("finds the shadow call of a request", () => {
  const response = { choices: [{ message: { role: "assistant", content: "shadow" } }] };
  const records = [
    { request_id: "req_1", response },
    { request_id: "req_2" },
  ] as unknown as Schema["ComparisonRecord"][];
  expect(shadowRecord(records, "req_1")?.text).toBe("shadow");
  expect(shadowRecord(records, "req_2")).toBeUndefined();
  expect(shadowRecord(records, "req_3")).toBeUndefined();
  expect(shadowWindow("2026-11-17T12:00:00Z")).toEqual({
    from: "2026-11-17T11:59:59.000Z",
    to: "2026-11-17T12:00:01.000Z",
  });
});

it("states the change in percent", () => {
  expect(changeText(100, 140)).toBe("+40\u00a0%");
  expect(changeText(0.02, 0.001)).toBe("−95\u00a0%");
  expect(changeText(5, 5)).toBe("same");
  expect(changeText(null, 5)).toBeUndefined();
  expect(changeText(0, 5)).toBeUndefined();
});
