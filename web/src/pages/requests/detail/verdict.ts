import type { Schema } from "../../../api/client";
import { formatMoney, parseNano } from "../../../lib/money";
import { formatCount, formatLatency, plural } from "../../../lib/numbers";

type Detail = Schema["RequestDetail"];

/** A part of the verdict; names of models, providers and policies stand out. */
export type Part = string | { name: string };

/** Says in one sentence what became of a request: who served it, how, how fast and for how much; or what failed. */
export function verdictOf(r: Detail): Part[] {
  if (r.state === "running") {
    return ["Still running: ", { name: r.requested_model }, " was asked for."];
  }
  if (r.outcome === "ok") {
    return served(r);
  }
  const parts: Part[] = [ending(r)];
  parts.push(r.error?.message ? `: ${r.error.message}` : ".");
  const advice = adviceOf(r);
  if (advice) {
    parts.push(` ${advice}`);
  }
  return parts;
}

function served(r: Detail): Part[] {
  return [
    "Served by ",
    { name: r.model ?? "an unknown model" },
    " on ",
    { name: r.provider ?? "an unknown provider" },
    ...(r.simulated ? [" (SIMULATED)"] : []),
    " – ",
    ...routeOf(r),
    ` – in ${formatLatency(r.latency_ms)} ${priceOf(r)}`,
    ...savedOf(r),
    ".",
  ];
}

function priceOf(r: Detail): string {
  if (r.cost_usd === null) {
    return "at an unknown cost";
  }
  return parseNano(r.cost_usd) === 0n ? "for free" : `for ${formatMoney(r.cost_usd)}`;
}

function savedOf(r: Detail): Part[] {
  if (r.saved_percent === null || r.baseline_model === null) {
    return [];
  }
  const dearer = Math.round(-r.saved_percent); // rounded as the list does
  const base: Part[] = [{ name: r.baseline_model }, ` (${formatMoney(r.baseline_cost_usd)})`];
  if (dearer === 0) {
    return [", as much as ", ...base];
  }
  return [`, ${formatCount(Math.abs(dearer))} % ${dearer < 0 ? "less" : "more"} than `, ...base];
}

function routeOf(r: Detail): Part[] {
  if (r.decision === "policy") {
    return ["controlled by policy ", { name: r.policy ?? "unknown" }];
  }
  if (r.decision === "fallback") {
    const failed = r.attempts.find((attempt) => attempt.class !== null);
    const name = failed && `${failed.provider}/${failed.model}`;
    if (name && r.fallback_reason?.startsWith(name)) {
      return ["fallback because ", { name }, r.fallback_reason.slice(name.length)];
    }
    if (failed) {
      return [
        "fallback after ",
        { name: `${failed.provider}/${failed.model}` },
        ` failed (${failed.class ?? "unknown"})`,
      ];
    }
    const missing = unavailable(r);
    return missing
      ? ["fallback because ", { name: missing.target }, ` was out: ${missing.excluded?.reason ?? ""}`]
      : ["fallback"];
  }
  return [r.decision === "expected" ? "expected route" : "no decision"];
}

/** The candidate that would have been the first choice, had it been to be had. */
function unavailable(r: Detail): Schema["Candidate"] | undefined {
  const out = (r.trace?.candidates ?? []).filter((c) => c.excluded && passing.has(c.excluded.code));
  return out.sort((a, b) => b.score - a.score)[0];
}

// Reasons that pass by themselves; all others would have excluded the candidate yesterday, too.
const passing = new Set(["circuit_open", "credential_backing_off"]);

function ending(r: Detail): string {
  const after = formatLatency(r.latency_ms);
  switch (r.outcome) {
    case "client_error":
      return `Refused after ${after} because of the request itself`;
    case "rejected":
      return `Rejected after ${after} by ${rejecter(r)}`;
    case "upstream_error":
      return r.attempts.length === 0
        ? `Failed after ${after}, before any attempt`
        : `Failed at the providers after ${after} and ${plural(r.attempts.length, "attempt")}`;
    case "cancelled":
      return `Cancelled: the client left after ${after}`;
    case "partial":
      return `Broken off after ${after}: ${r.model ?? "the model"} on ${r.provider ?? "its provider"} delivered a part and then failed`;
    case "interrupted":
      return "Interrupted: the gateway ended before the request did";
    case "gateway_error":
      return `Failed inside the gateway after ${after}`;
    default:
      return `Ended after ${after}`;
  }
}

function rejecter(r: Detail): string {
  if (r.error?.origin === "policy") {
    return `policy ${r.policy ?? ""}`.trim();
  }
  const words: Record<string, string> = { RATE_LIMITED: "a rate limit", BUDGET_EXCEEDED: "a budget" };
  return words[r.error?.code ?? ""] ?? (r.error?.origin === "client" ? "the key’s rights" : "the gateway");
}

function adviceOf(r: Detail): string {
  switch (r.outcome) {
    case "upstream_error":
      return r.attempts.length === 0
        ? "The candidates below say why each one was out; Providers tests them."
        : "The attempts below say what each provider answered; Providers tests them.";
    case "interrupted":
      return "Repeat the request.";
    case "gateway_error":
      return "Repeat the request; if it goes on, report its id.";
    default:
      return "";
  }
}
