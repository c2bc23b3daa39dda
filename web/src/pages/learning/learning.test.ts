import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { statusText } from "./learning";

const state: Schema["LearningState"] = {
  settings: { enabled: true },
  active: false,
  version: "",
  verdicts: 12,
  min_verdicts: 50,
  abilities: [],
  computed_at: null,
};

describe("statusText", () => {
  it("explains why the static predictions are used", () => {
    expect(statusText(state)).toContain("12 of at least 50");
    expect(statusText({ ...state, settings: { ...state.settings, enabled: false } })).toContain("off");
    expect(statusText({ ...state, active: true, verdicts: 1200 })).toContain("1,200 ratings and verdicts");
  });
});
