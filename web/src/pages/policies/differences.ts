import type { Schema } from "../../api/client";
import { formatMoney } from "../../lib/money";
import { formatQuality, formatCount } from "../../lib/numbers";

type Explanation = Schema["Explanation"];
type Decision = Schema["Decision"];
type Candidate = Schema["Candidate"];

/** One thing in which two decisions differ. */
export interface Difference {
  what: string;
  live: string;
  draft: string;
}

/** The target that a request would go to; undefined when it would be refused. */
export function choiceOf({ decision, refusal }: Explanation): Candidate | undefined {
  return refusal ? undefined : decision?.candidates.find((c) => c.rank === 1);
}

/** Lists in which ways two decisions on one request differ, the most important first. */
export function differences(live: Explanation, draft: Explanation): Difference[] {
  const rows: [string, string, string][] = [
    ["served by", outcome(live), outcome(draft)],
    ["decision", kind(live), kind(draft)],
    ["expected cost", cost(live), cost(draft)],
    ["chance of a good answer", chance(live), chance(draft)],
    ["expected time", time(live), time(draft)],
    ["objective", objective(live), objective(draft)],
    ["policies that match", matched(live.decision), matched(draft.decision)],
    ["left out only here", onlyOut(live.decision, draft.decision), onlyOut(draft.decision, live.decision)],
    ["answer at most", limit(live.decision), limit(draft.decision)],
    ["baseline", baseline(live), baseline(draft)],
    ["texts", texts(live.decision), texts(draft.decision)],
  ];
  return rows.filter(([, a, b]) => a !== b).map(([what, a, b]) => ({ what, live: a, draft: b }));
}

function outcome(explanation: Explanation): string {
  const { refusal } = explanation;
  return refusal ? `refused (${refusal.code})` : (choiceOf(explanation)?.target ?? "nobody");
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

function chance(explanation: Explanation): string {
  const chosen = choiceOf(explanation);
  return chosen ? formatQuality(chosen.quality) : "–";
}

function time(explanation: Explanation): string {
  const ms = choiceOf(explanation)?.expected_ms;
  return ms ? `${formatCount(ms)} ms` : "–";
}

function objective({ decision }: Explanation): string {
  const aim = decision?.input.objective;
  return aim ? `${aim.name} (${aim.tradeoff})` : "–";
}

function matched(decision: Decision | undefined): string {
  const names = decision?.policies.filter((hit) => hit.matched).map((hit) => hit.name) ?? [];
  return names.join(", ") || "none";
}

/** The targets that one decision leaves out and the other does not. */
function onlyOut(decision: Decision | undefined, other: Decision | undefined): string {
  const out = (d: Decision | undefined) => d?.candidates.filter((c) => c.excluded).map((c) => c.target) ?? [];
  const known = new Set(out(other));
  return (
    out(decision)
      .filter((target) => !known.has(target))
      .join(", ") || "none"
  );
}

function limit(decision: Decision | undefined): string {
  return decision?.max_output ? `${formatCount(decision.max_output)} tokens` : "no limit";
}

function baseline({ decision }: Explanation): string {
  return decision?.baseline?.model ?? "none";
}

function texts(decision: Decision | undefined): string {
  return decision?.hide_text ? "not stored" : "as set elsewhere";
}
