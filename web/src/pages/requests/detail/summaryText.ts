import type { Schema } from "../../../api/client";
import { formatMoney, parseNano } from "../../../lib/money";
import { formatCount, formatLatency, plural } from "../../../lib/numbers";

type Detail = Schema["RequestDetail"];

/** A part of the summary; names of models, providers and policies are emphasised. */
export type Part = string | { name: string };

/** Summarises a request in one sentence: model, route, latency and cost, or what failed. */
export function summaryOf(r: Detail): Part[] {
  if (r.state === "running") {
    return ["Running. Requested model: ", { name: r.requested_model }, "."];
  }
  if (r.outcome === "ok") {
    return served(r);
  }
  const parts: Part[] = [failureText(r)];
  parts.push(r.error?.message ? `: ${r.error.message}` : ".");
  const advice = adviceOf(r);
  // The gateway's error messages already say what to do.
  if (advice && !r.error?.message) {
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
    r.cache === "hit" ? " from the response cache" : "",
    r.simulated ? " (SIMULATED, " : " (",
    ...routeOf(r),
    `) in ${formatLatency(r.latency_ms)} ${costText(r)}`,
    ...savedOf(r),
    ".",
  ];
}

function costText(r: Detail): string {
  if (r.cost_usd === null) {
    return "at an unknown cost";
  }
  if (r.cache_use?.status === "hit" && r.cache_use.saved_usd !== null) {
    return `for free, instead of ${formatMoney(r.cache_use.saved_usd)}`;
  }
  return parseNano(r.cost_usd) === 0n ? "for free" : `for ${formatMoney(r.cost_usd)}`;
}

function savedOf(r: Detail): Part[] {
  if (r.saved_percent === null || r.baseline_model === null) {
    return [];
  }
  const change = Math.round(-r.saved_percent); // rounded as in the list
  const base: Part[] = [{ name: r.baseline_model }, ` (${formatMoney(r.baseline_cost_usd)})`];
  if (change === 0) {
    return [", the same as ", ...base];
  }
  const share = change === -100 ? "99.9" : formatCount(Math.abs(change));
  return [`, ${share}\u00a0% ${change < 0 ? "less" : "more"} than `, ...base];
}

function routeOf(r: Detail): Part[] {
  if (r.decision === "policy") {
    return ["policy ", { name: r.policy ?? "unknown" }];
  }
  if (r.decision === "fallback") {
    const failed = r.attempts.find((attempt) => attempt.class !== null);
    const name = failed && `${failed.provider}/${failed.model}`;
    if (name && r.fallback_reason?.startsWith(name)) {
      return ["fallback: ", { name }, r.fallback_reason.slice(name.length)];
    }
    if (failed) {
      return [
        "fallback: ",
        { name: `${failed.provider}/${failed.model}` },
        ` failed with ${failed.class ?? "an unknown error"}`,
      ];
    }
    const missing = unavailable(r);
    return missing
      ? ["fallback: ", { name: missing.target }, ` unavailable, ${missing.excluded?.reason ?? ""}`]
      : ["fallback"];
  }
  return [r.decision === "expected" ? "expected route" : "no decision"];
}

/** The candidate that would have been the first choice if it had been available. */
function unavailable(r: Detail): Schema["Candidate"] | undefined {
  return (r.trace?.candidates ?? []).find((c) => c.excluded && temporary.has(c.excluded.code));
}

// Temporary reasons. All others exclude a candidate permanently.
const temporary = new Set(["circuit_open", "credential_backing_off", "quota_exhausted"]);

function failureText(r: Detail): string {
  const after = formatLatency(r.latency_ms);
  switch (r.outcome) {
    case "client_error":
      return `Invalid request, rejected after ${after}`;
    case "rejected":
      return `Rejected by ${rejecter(r)} after ${after}`;
    case "upstream_error":
      return r.attempts.length === 0
        ? `Failed after ${after} without calling a provider`
        : `Failed after ${after} and ${plural(r.attempts.length, "attempt")}`;
    case "cancelled":
      return `Cancelled: the client disconnected after ${after}`;
    case "partial":
      return `Interrupted after ${after}: ${r.model ?? "the model"} on ${r.provider ?? "its provider"} failed after sending part of the response`;
    case "interrupted":
      return "Interrupted: the gateway stopped before the request was complete";
    case "gateway_error":
      return `Gateway error after ${after}`;
    default:
      return `Ended after ${after}`;
  }
}

function rejecter(r: Detail): string {
  if (r.error?.origin === "policy") {
    return `policy ${r.policy ?? ""}`.trim();
  }
  const limits: Record<string, string> = { RATE_LIMITED: "a rate limit", BUDGET_EXCEEDED: "a budget" };
  return (
    limits[r.error?.code ?? ""] ?? (r.error?.origin === "client" ? "the key’s permissions" : "the gateway")
  );
}

function adviceOf(r: Detail): string {
  switch (r.outcome) {
    case "upstream_error":
      return r.attempts.length === 0
        ? "See the reasons in the candidates below."
        : "Retry, or add a fallback model.";
    case "interrupted":
      return "Retry the request.";
    case "gateway_error":
      return "Retry the request. If the error persists, report the request ID.";
    default:
      return "";
  }
}
