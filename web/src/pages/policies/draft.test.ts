import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import {
  type Action,
  type Draft,
  draftOf,
  isFormCurrent,
  isDirty,
  isCheckable,
  isReady,
  moved,
  problemsAt,
  reduce,
  inputOf,
} from "./draft";

const saved = {
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

const after = (...actions: Action[]): Draft => actions.reduce(reduce, draftOf(saved));

describe("a draft", () => {
  it("starts with the active policies", () => {
    const draft = draftOf(saved);
    expect([isDirty(draft), isReady(draft), isFormCurrent(draft)]).toEqual([false, false, true]);
  });

  it("applies an edit of the YAML to the form after the check", () => {
    const typed = after({ type: "yaml", source: "new" });
    expect(typed.source).toBe("new");
    expect(typed.policies).toEqual(saved.policies);
    expect([isDirty(typed), isReady(typed)]).toEqual([true, false]);
    expect(inputOf(typed)).toEqual({ source: "new" });
    const checked = reduce(typed, { type: "checked", edit: 1, check: valid("formatted", [{ name: "b" }]) });
    expect(checked.policies).toEqual([{ name: "b" }]);
    expect(checked.source).toBe("new"); // typed YAML is never reformatted
    expect(isReady(checked)).toBe(true);
  });

  it("disables the form while the YAML has errors", () => {
    const draft = after({ type: "yaml", source: "bad" }, { type: "checked", edit: 1, check: invalid("bad") });
    expect(isFormCurrent(draft)).toBe(false);
    expect(draft.policies).toEqual(saved.policies);
    expect(isReady(draft)).toBe(false);
  });

  it("applies an edit of the form to the YAML immediately", () => {
    const policies = [{ name: "a", pin: "unknown" }];
    const changed = after({ type: "form", policies });
    expect(changed.source).toBe("policies:\n  - name: a\n    pin: unknown\n");
    expect(inputOf(changed)).toEqual({ source: changed.source });
    expect(isDirty(changed)).toBe(true);
    const checked = reduce(changed, { type: "checked", edit: 1, check: invalid("formatted") });
    expect(checked.source).toBe(changed.source);
    expect(checked.policies).toEqual(policies);
    expect(isFormCurrent(checked)).toBe(true);
    expect(isReady(checked)).toBe(false);
  });

  it("drops an edit of the form while the YAML has other policies", () => {
    const typed = after({ type: "yaml", source: "policies:\n  - name: b\n" });
    expect(reduce(typed, { type: "form", policies: [] })).toBe(typed);
  });

  it("keeps an empty field of the form", () => {
    const policies = [{ name: "a", pin: "x", deny: "" }];
    const changed = after({ type: "form", policies });
    const checked = reduce(changed, { type: "checked", edit: 1, check: valid(saved.source, saved.policies) });
    expect([checked.source, checked.policies]).toEqual([saved.source, policies]);
  });

  it("ignores the check of an earlier edit", () => {
    const draft = after(
      { type: "yaml", source: "one" },
      { type: "yaml", source: "two" },
      { type: "checked", edit: 1, check: valid("one", [{ name: "one" }]) },
    );
    expect(draft.check).toBeUndefined();
    expect(draft.policies).toEqual(saved.policies);
  });

  it("is clean again when the YAML equals the active policies", () => {
    expect(isDirty(after({ type: "yaml", source: "x" }, { type: "yaml", source: saved.source }))).toBe(false);
  });

  it("is replaced by a saved version", () => {
    const draft = after(
      { type: "yaml", source: "x" },
      { type: "reset", saved: { ...saved, source: "y", version: 4 } },
    );
    expect([draft.source, draft.basedOn, isDirty(draft)]).toEqual(["y", 4, false]);
  });

  it("is not checked while an amount is incomplete", () => {
    const typing = (max_cost_usd: string) =>
      isCheckable(after({ type: "form", policies: [{ name: "a", max_cost_usd }] }));
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
  it("finds the first problem of each field of a policy", () => {
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
