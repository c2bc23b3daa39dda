import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { createBody, draftOf, emptyDraft, updateBody } from "./keyDraft";
import { graceSecrets, keyHint, limitLabels, creatorOf, usedRecently } from "./keyState";

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

describe("the key form", () => {
  it("requires only a name", () => {
    expect(JSON.parse(JSON.stringify(createBody({ ...emptyDraft, name: " ci " }, now)))).toEqual({
      name: "ci",
      scopes: ["inference"],
      limits: {},
    });
  });

  it("keeps all values when saved unchanged", () => {
    expect(JSON.parse(JSON.stringify(updateBody(draftOf(key), now)))).toEqual({
      name: "ci",
      scopes: ["inference"],
      allowed_models: ["small-*"],
      baseline_model: null,
      limits: { requests_per_minute: 60 },
      budget: { amount_usd: "50", period: "month", warn_percent: 80 },
      sessions: null,
      expires_at: null,
      log_bodies: false,
      cache: null,
      error_format: null,
      allow_unpriced: false,
      tags: { team: "search" },
    });
  });

  it("sends the response cache in seconds", () => {
    const cached = { ...emptyDraft, cacheMode: "always", cacheMinutes: 90, cacheShared: true };
    const cache = { mode: "always", ttl_seconds: 5400, shared: true };
    expect(createBody(cached, now).cache).toEqual(cache);
    expect(updateBody(draftOf({ ...key, cache } as Schema["KeyView"]), now).cache).toEqual(cache);
  });

  it("removes cleared values", () => {
    const body = updateBody({ ...draftOf(key), budgetAmount: "", logBodies: "inherit", tags: [] }, now);
    expect([body.budget, body.log_bodies, body.tags]).toEqual([null, null, {}]);
  });

  it("computes the expiry from the current time", () => {
    expect(createBody({ ...emptyDraft, name: "x", expiry: "30" }, now).expires_at).toBe(
      "2026-12-03T12:00:00.000Z",
    );
  });
});

describe("key details", () => {
  it("hint at the secret, and at old secrets while they are valid", () => {
    expect(keyHint(key)).toBe("fl_new…0003");
    expect(graceSecrets(key, now).map((secret) => secret.end)).toEqual(["0002"]);
  });

  it("show whether the key was used recently", () => {
    expect(usedRecently(key, now)).toBe(true);
    expect(usedRecently({ ...key, last_used_at: null }, now)).toBe(false);
  });

  it("omit limits of zero", () => {
    expect(limitLabels(key.limits)).toEqual(["60 requests/min"]);
  });

  it("name the creator when the members are known", () => {
    const ada = { account_id: "acc_1", name: "Ada", email: "ada@example.com" } as Schema["MemberView"];
    const by = (id: string | null) => ({ ...key, created_by: id });
    expect(creatorOf(by("acc_1"), [ada])).toBe("by Ada");
    expect(creatorOf(by("acc_2"), [ada])).toBe("by a former member");
    expect(creatorOf(by("acc_1"), undefined)).toBe("");
    expect(creatorOf(by(null), undefined)).toBe("from the command line");
  });
});

it("keeps session limits through the form", () => {
  const draft = { ...emptyDraft, name: "agents", sessionAmount: "5", turnsPerMinute: 120 as const };
  const body = createBody(draft);
  expect(body.sessions).toEqual({
    budget: { amount_usd: "5", period: "total", warn_percent: 80 },
    downgrade: true,
    turns_per_minute: 120,
  });
  const key = { ...body, limits: {}, tags: {}, allowed_models: [], log_bodies: null, scopes: [] };
  expect(updateBody(draftOf(key as unknown as Schema["KeyView"])).sessions).toEqual(body.sessions);
  expect(updateBody(emptyDraft).sessions).toBeNull();
});
