import { beforeEach, expect, it } from "vitest";

import { draftOf, isDirty, isReady, reduce } from "./draft";
import { draftName, removeDraft, removeAllDrafts, storeDraft, loadDraft } from "./storedDraft";

const saved = { source: "policies: []\n", policies: [], version: 3 };
const edited = reduce(draftOf(saved), { type: "yaml", source: "policies:\n  - name: mine\n    pin: x\n" });
const check = { ok: true, source: edited.source, policies: [], problems: [], hash: "h", diff: [] };
const mine = draftName("acc_1", "ws_1");

beforeEach(() => sessionStorage.clear());

it("stores a draft with its base version, to be checked again", () => {
  storeDraft(mine, reduce(edited, { type: "checked", edit: edited.edit, check }));
  const kept = loadDraft(mine);
  expect(kept).toMatchObject({ source: edited.source, basedOn: 3, edit: 1 });
  expect(kept && isDirty(kept)).toBe(true);
  expect(kept && isReady(kept)).toBe(false);
});

it("does not load the draft of another account or workspace", () => {
  storeDraft(mine, edited);
  expect(loadDraft(draftName("acc_2", "ws_1"))).toBeUndefined();
  expect(loadDraft(draftName("acc_1", "ws_2"))).toBeUndefined();
});

it("removes one draft or all drafts, and nothing else", () => {
  sessionStorage.setItem("other", "stays");
  const elsewhere = draftName("acc_1", "ws_2");
  storeDraft(mine, edited);
  storeDraft(elsewhere, edited);
  removeDraft(mine);
  expect([loadDraft(mine), loadDraft(elsewhere)?.source]).toEqual([undefined, edited.source]);
  removeAllDrafts();
  expect([loadDraft(elsewhere), sessionStorage.getItem("other")]).toEqual([undefined, "stays"]);
});

it("ignores an invalid draft", () => {
  sessionStorage.setItem(mine, "{");
  expect(loadDraft(mine)).toBeUndefined();
});
