import { beforeEach, expect, it } from "vitest";

import { draftOf, isDirty, isReady, reduce } from "./draft";
import { draftName, dropDraft, dropDrafts, keepDraft, keptDraft } from "./keptDraft";

const held = { source: "policies: []\n", policies: [], version: 3 };
const edited = reduce(draftOf(held), { type: "text", source: "policies:\n  - name: mine\n    pin: x\n" });
const check = { ok: true, source: edited.source, policies: [], problems: [], hash: "h", diff: [] };
const mine = draftName("acc_1", "ws_1");

beforeEach(() => sessionStorage.clear());

it("keeps a draft with the version that it began with, to be checked again", () => {
  keepDraft(mine, reduce(edited, { type: "checked", edit: edited.edit, check }));
  const kept = keptDraft(mine);
  expect(kept).toMatchObject({ source: edited.source, basedOn: 3, edit: 1 });
  expect(kept && isDirty(kept)).toBe(true);
  expect(kept && isReady(kept)).toBe(false);
});

it("gives nobody the draft of another account or workspace", () => {
  keepDraft(mine, edited);
  expect(keptDraft(draftName("acc_2", "ws_1"))).toBeUndefined();
  expect(keptDraft(draftName("acc_1", "ws_2"))).toBeUndefined();
});

it("drops one draft, or all of them and nothing else", () => {
  sessionStorage.setItem("other", "stays");
  const elsewhere = draftName("acc_1", "ws_2");
  keepDraft(mine, edited);
  keepDraft(elsewhere, edited);
  dropDraft(mine);
  expect([keptDraft(mine), keptDraft(elsewhere)?.source]).toEqual([undefined, edited.source]);
  dropDrafts();
  expect([keptDraft(elsewhere), sessionStorage.getItem("other")]).toEqual([undefined, "stays"]);
});

it("takes no draft that cannot be read", () => {
  sessionStorage.setItem(mine, "{");
  expect(keptDraft(mine)).toBeUndefined();
});
