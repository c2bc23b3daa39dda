import type { Schema } from "../../api/client";
import { formatCount } from "../../lib/numbers";

type State = Schema["LearningState"];

/** Describes whether routing uses the learned predictions and, if not, why. */
export function statusText({ settings, active, verdicts, min_verdicts: needed, check }: State): string {
  if (!settings.enabled) {
    return "Learning is off. Routing uses the static predictions.";
  }
  if (active) {
    return `Routing uses the predictions learned from ${formatCount(verdicts)} ratings and verdicts.`;
  }
  if (verdicts < needed) {
    return `Routing uses the static predictions: ${formatCount(verdicts)} of at least ${formatCount(needed)} ratings and verdicts.`;
  }
  const errors = `error ${check.learned.toFixed(3)} against ${check.static.toFixed(3)} on ${formatCount(check.outcomes)} later outcomes`;
  return `Routing uses the static predictions, because the learned ones are not clearly better (${errors}).`;
}

const signals: Record<string, string> = {
  schema_violation: "JSON schema violation",
  refusal: "Refusal",
  truncation: "Truncation",
  retry: "Same prompt sent again",
  reask: "Asked again in the next turn",
  invalid_tool_call: "Invalid tool call",
  failed_tool: "Failed tool call",
  abandoned: "Client disconnected",
};

/** Names a signal. */
export function signalName(signal: string): string {
  return signals[signal] ?? signal;
}

/** Describes how much a signal counts, or why it does not count. */
export function trustText(trust: Schema["SignalTrust"]): string {
  if (trust.weight > 0) {
    return `weight ${trust.weight.toFixed(2)}`;
  }
  if (trust.with < trust.needed || trust.without < trust.needed) {
    return `not used: ${formatCount(trust.with)} of ${formatCount(trust.needed)} requests with a verdict`;
  }
  return "not used: does not agree with verdicts";
}
