import { describe, expect, it } from "vitest";

import type { Schema } from "../../../api/client";
import { verdictOf } from "./verdict";

type Detail = Schema["RequestDetail"];

const served = {
  state: "done",
  outcome: "ok",
  decision: "expected",
  model: "small-b",
  provider: "provider-x",
  simulated: false,
  latency_ms: 412,
  cost_usd: "0.00031",
  baseline_model: "large-a",
  baseline_cost_usd: "0.000941",
  saved_percent: 67.1,
  attempts: [],
  policy: null,
} as unknown as Detail;

const text = (change: Partial<Detail>) =>
  verdictOf({ ...served, ...change })
    .map((part) => (typeof part === "string" ? part : part.name))
    .join("");

describe("the verdict", () => {
  it("says who served, how, how fast and for how much", () => {
    expect(text({})).toBe(
      "Served by small-b on provider-x – expected route – in 412 ms for $0.0003100, 67 % less than large-a ($0.0009410).",
    );
  });

  it("tells an unknown cost from a free one and a negative saving from none", () => {
    expect(text({ cost_usd: null, saved_percent: null })).toContain("at an unknown cost.");
    expect(text({ cost_usd: "0" })).toContain("for free");
    expect(text({ saved_percent: -12 })).toContain("12 % more than large-a");
    expect(text({ saved_percent: -1404.5 })).toContain(", 1,405 % more than large-a");
  });

  it("names the attempt that failed, or the target that was out", () => {
    const failed = { provider: "p", model: "m", class: "timeout" } as Detail["attempts"][number];
    expect(text({ decision: "fallback", attempts: [failed] })).toContain(
      "fallback after p/m failed (timeout)",
    );
    const fallback_reason = "p/m did not answer in time";
    expect(text({ decision: "fallback", attempts: [failed], fallback_reason })).toContain(
      "fallback because p/m did not answer in time – in",
    );
    const out = {
      target: "p/m",
      score: 1,
      excluded: { code: "circuit_open", reason: "its circuit is open" },
    };
    const never = {
      target: "p/z",
      score: 2,
      excluded: { code: "not_allowed_by_key", reason: "the key forbids it" },
    };
    const trace = { candidates: [never, out] } as unknown as Detail["trace"];
    expect(text({ decision: "fallback", trace })).toContain(
      "fallback because p/m was out: its circuit is open",
    );
  });

  it("names the policy", () => {
    expect(text({ decision: "policy", policy: "cheap-first" })).toContain("controlled by policy cheap-first");
  });

  it("says what failed, who caused it and what to do", () => {
    const error = {
      code: "BUDGET_EXCEEDED",
      message: "Key “ci” has used its budget.",
      origin: "gateway",
    } as const;
    expect(text({ outcome: "rejected", error })).toBe(
      "Rejected after 412 ms by a budget: Key “ci” has used its budget.",
    );
    expect(text({ outcome: "upstream_error", error: undefined })).toContain(
      "Failed after 412 ms, before any attempt. The candidates below say why",
    );
    const attempts = [{ provider: "p", model: "m", class: "overload" }] as Detail["attempts"];
    expect(text({ outcome: "upstream_error", error: undefined, attempts })).toContain(
      "Failed at the providers after 412 ms and 1 attempt. The attempts below say",
    );
  });
});
