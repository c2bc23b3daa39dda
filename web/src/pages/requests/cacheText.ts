import type { Schema } from "../../api/client";
import { formatMoney } from "../../lib/money";
import { formatDuration } from "../../lib/numbers";

const reasons: Record<string, string> = {
  not_enabled: "neither the key nor a policy enables it",
  disabled_by_request: "the request disabled it",
  disabled_by_policy: "a policy disabled it",
  endpoint: "responses of this endpoint are not cached",
  tools: "the request offers tools",
  provider_state: "the request uses data that the provider stores",
  audio_output: "the response contains audio",
  choices: "the request asks for several choices",
  zero_retention: "the request requires zero data retention",
  fallback_model: "a fallback model served the request",
  not_verified: "the response failed the checks in a policy",
  rescued: "another target continued the response",
  incomplete: "the response did not end normally",
  too_large: "the response is too large",
  overflowing: "too many responses were in progress",
};

function age(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000);
}

/** Describes how a request used the response cache. */
export function cacheText(use: Schema["CacheUse"]): string {
  const inputs = use.cached_inputs ? `${use.cached_inputs} inputs from the cache. ` : "";
  const saved = use.saved_usd === null ? "" : ` Saved ${formatMoney(use.saved_usd)}.`;
  if (use.status === "hit") {
    return `Served from the response cache, ${age(use.age_seconds ?? 0)} old.${saved}`;
  }
  const reason = use.reason === null ? "" : (reasons[use.reason] ?? use.reason);
  if (use.status === "bypass") {
    return `Not from the response cache: ${reason}.`;
  }
  return `${inputs}${reason ? `Not in the response cache, and not stored: ${reason}.` : "Not in the response cache. Stored for the next identical request."}${inputs ? saved : ""}`;
}
