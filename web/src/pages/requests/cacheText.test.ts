import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { cacheText } from "./cacheText";

const use = (change: Partial<Schema["CacheUse"]>): Schema["CacheUse"] => ({
  status: "hit",
  reason: null,
  age_seconds: null,
  source: null,
  saved_usd: null,
  cached_inputs: null,
  ...change,
});

describe("cacheText", () => {
  it.each([
    [use({ age_seconds: 3, saved_usd: "0.5" }), "Served from the response cache, 3 s old. Saved $0.5000."],
    [use({ status: "bypass", reason: "tools" }), "Not from the response cache: the request offers tools."],
    [use({ status: "miss" }), "Not in the response cache. Stored for the next identical request."],
    [
      use({ status: "miss", reason: "too_large" }),
      "Not in the response cache, and not stored: the response is too large.",
    ],
  ])("describes %j", (given, expected) => {
    expect(cacheText(given)).toBe(expected);
  });
});
