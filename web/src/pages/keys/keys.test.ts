import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { createBody, draftOf, emptyDraft, updateBody } from "./keyDraft";
import { graceSecrets, keyHint, limitWords, makerOf, usedLately } from "./keyState";

const now = Date.parse("2026-11-03T12:00:00Z");

const key = {
  name: "ci",
  scopes: ["inference"],
  allowed_models: ["small-*"],
  baseline_model: null,
  limits: { requests_per_minute: 60, tokens_per_minute: 0 },
  budget: { amount_usd: "50", period: "month", warn_percent: 80 },
  expires_at: null,
  log_bodies: false,
  error_format: null,
  allow_unpriced: false,
  tags: { team: "search" },
  last_used_at: "2026-11-03T11:00:00Z",
  secrets: [
    { start: "fl_old", end: "0001", expires_at: "2026-11-03T11:59:00Z" },
    { start: "fl_mid", end: "0002", expires_at: "2026-11-04T12:00:00Z" },
    { start: "fl_new", end: "0003", expires_at: null },
  ],
} as unknown as Schema["KeyView"];

describe("the form of a key", () => {
  it("needs only a name", () => {
    expect(JSON.parse(JSON.stringify(createBody({ ...emptyDraft, name: " ci " }, now)))).toEqual({
      name: "ci",
      scopes: ["inference"],
      limits: {},
    });
  });

  it("changes nothing when it is saved as it was opened", () => {
    expect(JSON.parse(JSON.stringify(updateBody(draftOf(key), now)))).toEqual({
      name: "ci",
      scopes: ["inference"],
      allowed_models: ["small-*"],
      baseline_model: null,
      limits: { requests_per_minute: 60 },
      budget: { amount_usd: "50", period: "month", warn_percent: 80 },
      expires_at: null,
      log_bodies: false,
      error_format: null,
      allow_unpriced: false,
      tags: { team: "search" },
    });
  });

  it("removes what was emptied", () => {
    const body = updateBody({ ...draftOf(key), budgetAmount: "", logBodies: "inherit", tags: [] }, now);
    expect([body.budget, body.log_bodies, body.tags]).toEqual([null, null, {}]);
  });

  it("counts days from now", () => {
    expect(createBody({ ...emptyDraft, name: "x", expiry: "30" }, now).expires_at).toBe(
      "2026-12-03T12:00:00.000Z",
    );
  });
});

describe("what a key shows", () => {
  it("is never the secret, and old secrets only while they work", () => {
    expect(keyHint(key)).toBe("fl_new…0003");
    expect(graceSecrets(key, now).map((secret) => secret.end)).toEqual(["0002"]);
  });

  it("says whether something may depend on it", () => {
    expect(usedLately(key, now)).toBe(true);
    expect(usedLately({ ...key, last_used_at: null }, now)).toBe(false);
  });

  it("leaves out limits of nought: they are none", () => {
    expect(limitWords(key.limits)).toEqual(["60 requests/min"]);
  });

  it("says who made a key, and nothing while that is not known", () => {
    const ada = { account_id: "acc_1", name: "Ada", email: "ada@example.com" } as Schema["MemberView"];
    const by = (id: string | null) => ({ ...key, created_by: id });
    expect(makerOf(by("acc_1"), [ada])).toBe("by Ada");
    expect(makerOf(by("acc_2"), [ada])).toBe("by a former member");
    expect(makerOf(by("acc_1"), undefined)).toBe("");
    expect(makerOf(by(null), undefined)).toBe("on the command line");
  });
});
