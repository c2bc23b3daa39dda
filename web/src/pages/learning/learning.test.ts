import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { signalName, statusText, trustText } from "./learning";

const state: Schema["LearningState"] = {
  settings: { enabled: true },
  active: false,
  version: "",
  verdicts: 12,
  min_verdicts: 50,
  check: { outcomes: 60, static: 0.21, learned: 0.205, error: 0.01 },
  abilities: [],
  signals: [],
  computed_at: null,
};

describe("statusText", () => {
  it("explains why the static predictions are used", () => {
    expect(statusText(state)).toContain("12 of at least 50");
    expect(statusText({ ...state, verdicts: 80 })).toContain("not clearly better");
    expect(statusText({ ...state, settings: { ...state.settings, enabled: false } })).toContain("off");
    expect(statusText({ ...state, active: true, verdicts: 1200 })).toContain("1,200 ratings and verdicts");
  });
});

describe("trustText", () => {
  const trust = {
    signal: "refusal",
    with: 30,
    without: 400,
    bad: 0.8,
    usual: 0.2,
    low: 0.4,
    weight: 0.16,
    needed: 20,
  };
  it("shows the weight or the reason", () => {
    expect(trustText(trust)).toBe("weight 0.16");
    expect(trustText({ ...trust, weight: 0, with: 3 })).toContain("3 of 20");
    expect(trustText({ ...trust, weight: 0 })).toContain("does not agree");
    expect(signalName("failed_tool")).toBe("Failed tool call");
    expect(signalName("other")).toBe("other");
  });
});
