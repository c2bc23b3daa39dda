import type { Schema } from "../../api/client";
import { formatMoney } from "../../lib/money";
import { formatQuality, formatCount } from "../../lib/numbers";

type Explanation = Schema["Explanation"];
type Decision = Schema["Decision"];
type Candidate = Schema["Candidate"];

/** A field in which two decisions differ. */
export interface Difference {
  field: string;
  live: string;
  draft: string;
}

/** The chosen target; undefined when the request would be rejected. */
export function choiceOf({ decision, refusal }: Explanation): Candidate | undefined {
  return refusal ? undefined : decision?.candidates.find((c) => c.rank === 1);
}

/** Lists the differences between two decisions on one request, the most important first. */
export function differences(live: Explanation, draft: Explanation): Difference[] {
  const rows: [string, string, string][] = [
    ["Served by", outcome(live), outcome(draft)],
    ["Decision", kind(live), kind(draft)],
    ["Expected cost", cost(live), cost(draft)],
    ["Predicted quality", quality(live), quality(draft)],
    ["Expected latency", latency(live), latency(draft)],
    ["Objective", objective(live), objective(draft)],
    ["Matching policies", matched(live.decision), matched(draft.decision)],
    [
      "Excluded only here",
      onlyExcluded(live.decision, draft.decision),
      onlyExcluded(draft.decision, live.decision),
    ],
    ["Max output", limit(live.decision), limit(draft.decision)],
    ["Baseline", baseline(live), baseline(draft)],
    ["Prompts and responses", bodyLogging(live.decision), bodyLogging(draft.decision)],
  ];
  return rows.filter(([, a, b]) => a !== b).map(([field, a, b]) => ({ field, live: a, draft: b }));
}

function outcome(explanation: Explanation): string {
  const { refusal } = explanation;
  return refusal ? `rejected (${refusal.code})` : (choiceOf(explanation)?.target ?? "no target");
}

function kind({ decision, refusal }: Explanation): string {
  if (refusal || !decision) {
    return "none";
  }
  return decision.policy ? `${decision.kind}: ${decision.policy}` : decision.kind;
}

function cost(explanation: Explanation): string {
  const chosen = choiceOf(explanation);
  return chosen ? formatMoney(chosen.expected_cost_usd) : "–";
}

function quality(explanation: Explanation): string {
  const chosen = choiceOf(explanation);
  return chosen ? formatQuality(chosen.quality) : "–";
}

function latency(explanation: Explanation): string {
  const ms = choiceOf(explanation)?.expected_ms;
  return ms ? `${formatCount(ms)} ms` : "–";
}

function objective({ decision }: Explanation): string {
  const chosen = decision?.input.objective;
  return chosen ? `${chosen.name} (${chosen.tradeoff})` : "–";
}

function matched(decision: Decision | undefined): string {
  const names = decision?.policies.filter((hit) => hit.matched).map((hit) => hit.name) ?? [];
  return names.join(", ") || "none";
}

/** The targets that one decision excludes and the other does not. */
function onlyExcluded(decision: Decision | undefined, other: Decision | undefined): string {
  const excluded = (d: Decision | undefined) =>
    d?.candidates.filter((c) => c.excluded).map((c) => c.target) ?? [];
  const inOther = new Set(excluded(other));
  return (
    excluded(decision)
      .filter((target) => !inOther.has(target))
      .join(", ") || "none"
  );
}

function limit(decision: Decision | undefined): string {
  return decision?.max_output ? `${formatCount(decision.max_output)} tokens` : "no limit";
}

function baseline({ decision }: Explanation): string {
  return decision?.baseline?.model ?? "none";
}

function bodyLogging(decision: Decision | undefined): string {
  return decision?.omit_bodies ? "not stored" : "default";
}
