import type { Schema } from "../../api/client";
import { formatCount } from "../../lib/numbers";

type State = Schema["LearningState"];

/** Describes whether routing uses the learned predictions and, if not, why. */
export function statusText({ settings, active, verdicts, min_verdicts: needed }: State): string {
  if (!settings.enabled) {
    return "Learning is off. Routing uses the static predictions.";
  }
  if (active) {
    return `Routing uses the predictions learned from ${formatCount(verdicts)} ratings and verdicts.`;
  }
  return `Routing uses the static predictions: ${formatCount(verdicts)} of at least ${formatCount(needed)} ratings and verdicts.`;
}
