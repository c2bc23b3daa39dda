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
