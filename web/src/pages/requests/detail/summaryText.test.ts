import { describe, expect, it } from "vitest";

import type { Schema } from "../../../api/client";
import { summaryOf } from "./summaryText";

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
  summaryOf({ ...served, ...change })
    .map((part) => (typeof part === "string" ? part : part.name))
    .join("");

describe("summaryOf", () => {
  it("names model, route, latency and cost", () => {
    expect(text({})).toBe(
      "Served by small-b on provider-x (expected route) in 412 ms for $0.0003100, 67\u00a0% less than large-a ($0.0009410).",
    );
  });

  it("shows that the cache served the request, and the saving", () => {
    const cache_use = { status: "hit", saved_usd: "0.00031" } as Detail["cache_use"];
    expect(text({ cache: "hit", cache_use, cost_usd: "0", saved_percent: null })).toBe(
      "Served by small-b on provider-x from the response cache (expected route) in 412 ms for free, instead of $0.0003100.",
    );
  });

  it("marks a simulated request", () => {
    expect(text({ simulated: true })).toContain("on provider-x (SIMULATED, expected route) in");
  });

  it("distinguishes unknown and zero cost, and negative and no savings", () => {
    expect(text({ cost_usd: null, saved_percent: null })).toContain("at an unknown cost.");
    expect(text({ cost_usd: "0" })).toContain("for free");
    expect(text({ saved_percent: -12 })).toContain("12\u00a0% more than large-a");
    expect(text({ saved_percent: -1404.5 })).toContain(", 1,405\u00a0% more than large-a");
  });

  it("names the failed attempt or the unavailable target", () => {
    const failed = { provider: "p", model: "m", class: "timeout" } as Detail["attempts"][number];
    expect(text({ decision: "fallback", attempts: [failed] })).toContain(
      "(fallback: p/m failed with timeout)",
    );
    const fallback_reason = "p/m timed out";
    expect(text({ decision: "fallback", attempts: [failed], fallback_reason })).toContain(
      "(fallback: p/m timed out) in",
    );
    const unavailable = {
      target: "p/m",
      excluded: { code: "circuit_open", reason: "circuit open" },
    };
    const forbidden = {
      target: "p/z",
      excluded: { code: "not_allowed_by_key", reason: "not allowed by the key" },
    };
    const trace = { candidates: [forbidden, unavailable] } as unknown as Detail["trace"];
    expect(text({ decision: "fallback", trace })).toContain("(fallback: p/m unavailable, circuit open)");
  });

  it("names the policy", () => {
    expect(text({ decision: "policy", policy: "cheap-first" })).toContain("(policy cheap-first)");
  });

  it("names the error and the remedy", () => {
    const error = {
      code: "BUDGET_EXCEEDED",
      message: "Key “ci” has used its budget.",
      origin: "gateway",
    } as const;
    expect(text({ outcome: "rejected", error })).toBe(
      "Rejected by a budget after 412 ms: Key “ci” has used its budget.",
    );
    expect(text({ outcome: "upstream_error", error: undefined })).toContain(
      "Failed after 412 ms without calling a provider. See the reasons in the candidates below.",
    );
    const failed = {
      code: "PROVIDER_UPSTREAM_ERROR",
      message: "p/m returned 503. Retry.",
      origin: "provider",
    } as const;
    expect(text({ outcome: "upstream_error", error: failed })).toMatch(/: p\/m returned 503\. Retry\.$/);
    const attempts = [{ provider: "p", model: "m", class: "overload" }] as Detail["attempts"];
    expect(text({ outcome: "upstream_error", error: undefined, attempts })).toContain(
      "Failed after 412 ms and 1 attempt. Retry, or add a fallback model.",
    );
  });
});
