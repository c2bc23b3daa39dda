import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import {
  type Action,
  type Draft,
  draftOf,
  formFollows,
  isDirty,
  isReadable,
  isReady,
  moved,
  problemsAt,
  reduce,
  writtenBy,
} from "./draft";

const held = {
  source: "policies:\n  - name: a\n    pin: x\n",
  policies: [{ name: "a", pin: "x" }],
  version: 3,
};

const valid = (source: string, policies: Schema["Policy"][]): Schema["PolicyCheck"] => ({
  ok: true,
  source,
  policies,
  problems: [],
  hash: "h",
  diff: [],
});
const problem = {
  line: 3,
  column: 5,
  width: 5,
  path: "policies[0].pin",
  policy: "a",
  code: "E2035",
  message: "no model",
  hint: "",
};
const invalid = (source: string): Schema["PolicyCheck"] => ({
  ...valid(source, []),
  ok: false,
  problems: [problem],
  hash: "",
});

const after = (...actions: Action[]): Draft => actions.reduce(reduce, draftOf(held));

describe("a draft", () => {
  it("begins clean, with both sides as they are in force", () => {
    const draft = draftOf(held);
    expect([isDirty(draft), isReady(draft), formFollows(draft)]).toEqual([false, false, true]);
  });

  it("takes the text at once, and the form follows when it was checked", () => {
    const typed = after({ type: "text", source: "new" });
    expect(typed.source).toBe("new");
    expect(typed.policies).toEqual(held.policies);
    expect([isDirty(typed), isReady(typed)]).toEqual([true, false]);
    expect(writtenBy(typed)).toEqual({ source: "new" });
    const checked = reduce(typed, { type: "checked", edit: 1, check: valid("formatted", [{ name: "b" }]) });
    expect(checked.policies).toEqual([{ name: "b" }]);
    expect(checked.source).toBe("new"); // what somebody types is never rewritten
    expect(isReady(checked)).toBe(true);
  });

  it("keeps the form closed while the text has problems", () => {
    const draft = after({ type: "text", source: "bad" }, { type: "checked", edit: 1, check: invalid("bad") });
    expect(formFollows(draft)).toBe(false);
    expect(draft.policies).toEqual(held.policies);
    expect(isReady(draft)).toBe(false);
  });

  it("applies an edit of the form to the text immediately", () => {
    const policies = [{ name: "a", pin: "unknown" }];
    const changed = after({ type: "form", policies });
    expect(changed.source).toBe("policies:\n  - name: a\n    pin: unknown\n");
    expect(writtenBy(changed)).toEqual({ source: changed.source });
    expect(isDirty(changed)).toBe(true);
    const checked = reduce(changed, { type: "checked", edit: 1, check: invalid("formatted") });
    expect(checked.source).toBe(changed.source);
    expect(checked.policies).toEqual(policies);
    expect(formFollows(checked)).toBe(true);
    expect(isReady(checked)).toBe(false);
  });

  it("drops an edit of the form while the text has other policies", () => {
    const typed = after({ type: "text", source: "policies:\n  - name: b\n" });
    expect(reduce(typed, { type: "form", policies: [] })).toBe(typed);
  });

  it("keeps a field of the form that is not filled in yet", () => {
    const policies = [{ name: "a", pin: "x", deny: "" }];
    const changed = after({ type: "form", policies });
    const checked = reduce(changed, { type: "checked", edit: 1, check: valid(held.source, held.policies) });
    expect([checked.source, checked.policies]).toEqual([held.source, policies]);
  });

  it("does not take an answer to an earlier edit for one to the last", () => {
    const draft = after(
      { type: "text", source: "one" },
      { type: "text", source: "two" },
      { type: "checked", edit: 1, check: valid("one", [{ name: "one" }]) },
    );
    expect(draft.check).toBeUndefined();
    expect(draft.policies).toEqual(held.policies);
  });

  it("is clean again when the text is what is in force", () => {
    expect(isDirty(after({ type: "text", source: "x" }, { type: "text", source: held.source }))).toBe(false);
  });

  it("is dropped for what was saved", () => {
    const draft = after(
      { type: "text", source: "x" },
      { type: "reset", held: { ...held, source: "y", version: 4 } },
    );
    expect([draft.source, draft.basedOn, isDirty(draft)]).toEqual(["y", 4, false]);
  });

  it("is not sent while an amount is half typed", () => {
    const typing = (max_cost_usd: string) =>
      isReadable(after({ type: "form", policies: [{ name: "a", max_cost_usd }] }));
    expect(["0.05", "5", ".5"].map(typing)).toEqual([true, true, true]);
    expect(["", "0.", "0", "-1", "1e3", "0.0000000001"].map(typing)).toEqual([
      false,
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe("moved", () => {
  it.each([
    [0, 2, "bca"],
    [2, 0, "cab"],
    [1, 1, "abc"],
    [0, -1, "abc"],
    [2, 3, "abc"],
  ])("from %d to %d", (from, to, expected) => {
    expect(moved([..."abc"], from, to).join("")).toBe(expected);
  });
});

describe("problemsAt", () => {
  it("finds the first problem of each field of one policy", () => {
    const at = (path: string, message: string, hint = "") => ({ ...problem, path, message, hint });
    const problems = [
      at("policies[1]", "no effect", "add one"),
      at("policies[1].allow.models[0]", "no model"),
      at("policies[1].allow.tags", "no tag"),
      at("policies[10].pin", "another policy"),
    ];
    expect(problemsAt(problems, 1)).toEqual({ "": "no effect – add one", allow: "no model" });
    expect(problemsAt(undefined, 0)).toEqual({});
  });
});
