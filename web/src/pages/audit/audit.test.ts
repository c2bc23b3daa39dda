import { expect, test } from "vitest";

import { actionWords, changesOf, objectName, summary } from "./changes";

test("changes list differing settings by path", () => {
  const before = { name: "ci", limits: { concurrent: 1, tokens: 5 }, scopes: ["read"], gone: true };
  const after = { name: "ci", limits: { concurrent: 2, tokens: 5 }, scopes: ["read", "manage"], fresh: "x" };
  expect(changesOf(before, after)).toEqual([
    { field: "limits.concurrent", before: "1", after: "2" },
    { field: "scopes", before: "read", after: "read, manage" },
    { field: "gone", before: "true", after: undefined },
    { field: "fresh", before: undefined, after: "x" },
  ]);
});

test("a created object has only new values, a deleted one only old values", () => {
  expect(changesOf(undefined, { a: 1 })).toEqual([{ field: "a", before: undefined, after: "1" }]);
  expect(changesOf({ a: false }, undefined)).toEqual([{ field: "a", before: "false", after: undefined }]);
  expect(changesOf(undefined, undefined)).toEqual([]);
});

test("null counts as absent", () => {
  expect(changesOf({ a: null }, {})).toEqual([]);
});

test("a summary shows two changes and counts the rest", () => {
  const changes = changesOf({ a: 1, b: 2 }, { a: 2, c: 3, d: 4 });
  expect(summary(changes)).toBe("a 1 → 2, removed b and 2 more");
  expect(summary(changes.slice(2))).toBe("c 3, d 4");
  expect(summary([])).toBe("");
  expect(summary(changesOf({}, { budget: { amount_usd: "5" } }))).toBe("budget amount 5");
});

test("objects are shown by name", () => {
  expect(objectName({ object: "key_1", after: { name: "ci" } })).toBe("ci");
  expect(objectName({ object: "acc_1", before: { email: "a@b.c", name: "" } })).toBe("a@b.c");
  expect(objectName({ object: "requests", after: { count: 3 } })).toBe("requests");
  expect(objectName({ object: "acc_1", after: { role: "viewer" } }, { acc_1: "a@b.c" })).toBe("a@b.c");
});

test("objects without a name are shown by kind", () => {
  const object = "inv_01M7EVTVGJC4YEZN0RT2C7WQ8K";
  expect(objectName({ object, after: { role: "developer" } })).toBe("developer invitation");
  expect(objectName({ object })).toBe("invitation …WQ8K");
  expect(objectName({ object: "openai" })).toBe("openai");
});

test("an unknown action is shown unchanged", () => {
  expect(actionWords("key.create")).toBe("created a key");
  expect(actionWords("new.thing")).toBe("new.thing");
});
