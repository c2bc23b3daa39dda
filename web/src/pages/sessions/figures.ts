import type { Schema } from "../../api/client";
import { nanoText, parseNano } from "../../lib/money";

type Turn = Schema["Turn"];

/** The duration of each part of a session, in milliseconds. */
export interface TimeSplit {
  /** Time spent waiting for providers. */
  model: number;
  /** Time between turns, in which the client ran tools or waited for its user. */
  tools: number;
  /** Latency added by the gateway. */
  gateway: number;
}

/** Splits the wall time of the turns into model, tools and gateway. */
export function splitTime(turns: Turn[]): TimeSplit {
  const split = { model: 0, tools: 0, gateway: 0 };
  for (const turn of turns) {
    const gateway = (turn.overhead_us ?? 0) / 1000;
    split.tools += turn.gap_ms ?? 0;
    split.gateway += gateway;
    split.model += Math.max(0, (turn.latency_ms ?? 0) - gateway);
  }
  return split;
}

/** The cost of the session up to and including each turn. Unknown costs count as 0. */
export function runningCosts(turns: Turn[]): string[] {
  let total = 0n;
  return turns.map((turn) => {
    total += turn.cost_usd == null ? 0n : parseNano(turn.cost_usd);
    return nanoText(total);
  });
}

/** Time between the first and the latest request, in milliseconds. */
export function durationOf(session: { start: string; last: string }): number {
  return Date.parse(session.last) - Date.parse(session.start);
}

/** Labels of the notes of a turn. Adjustments of the router have labels of their own. */
export const noteLabels: Record<string, string> = {
  requested: "Different model requested",
  policy: "Policy",
  fallback: "Fallback",
  kept: "Kept the model",
};
