import type { Schema } from "../../../api/client";
import { formatQuality, formatCount, formatPercent } from "../../../lib/numbers";
import { taskLabel } from "../../../lib/tasks";

type Decision = Schema["Decision"];
type Candidate = Schema["Candidate"];

/** Effects of the conversation on a decision. */
export const adjustmentLabels: Record<string, string> = {
  downgraded: "Downgraded to auto:cost",
  escalated: "Escalated to a stronger model",
  housekeeping: "Housekeeping call by an agent, routed to the cheapest model",
  recovered: "No longer escalated",
  task_inherited: "Routed like the previous task",
};

/** Describes the source of the baseline. */
export const baselineLabels: Record<string, string> = {
  caller: "requested model",
  header: "set by a request header",
  policy: "set by a policy",
  key: "set for the key",
  default: "default model",
};

/** A feature of a request that the router uses. */
export interface Feature {
  name: string;
  value: string;
  hint?: string;
}

/** The features of a request. Missing ones are skipped. */
export function featuresOf(input: Schema["Input"]): Feature[] {
  const { features } = input;
  const list: [name: string, value: string | number | undefined, hint?: string][] = [
    ["Requested model", input.model],
    ["Objective", `${input.objective.name} (trade-off ${input.objective.tradeoff})`],
    ["Task", features && taskLabel(features.task), "Task type, estimated from the prompt"],
    [
      "Difficulty",
      features && input.predictor ? features.difficulty.toFixed(1) : undefined,
      "0 trivial, 1 easy, 2 medium, 3 hard",
    ],
    ["Language", features?.language],
    [
      "Known words",
      features && input.predictor ? formatPercent(100 * features.known, 0) : undefined,
      "Share of the words of the request that the difficulty was learned from",
    ],
    ["Input", `≈ ${formatCount(input.input_tokens)} tokens`],
    ["Max output", input.max_output ? `${formatCount(input.max_output)} tokens` : undefined],
    ["Messages", input.messages || undefined],
    ["Previous responses", input.turns || undefined],
    ["Previous model", input.last],
    ["Images", input.images || undefined],
    ["Required capabilities", input.needs.join(", ")],
    ["Streaming", input.stream ? "yes" : undefined],
    ["Dimensions", input.dimensions || undefined],
    ["Models allowed by key", input.allowed_models?.join(", ")],
    ["Requested fallbacks", input.controls?.models?.join(", ")],
    ["Session", input.controls?.session_id],
  ];
  return list.flatMap(([name, value, hint]) =>
    value === undefined || value === "" ? [] : [{ name, value: String(value), hint }],
  );
}

/** Formats the predicted quality with one standard deviation. */
export function qualityText({ quality, spread }: Pick<Candidate, "quality" | "spread">): string {
  const text = formatQuality(quality);
  return spread && !/[<>]/.test(text) ? `${text} ± ${spread.toFixed(2)}` : text;
}

/** Describes the result of a candidate: chosen, served, failed or not tried. */
export function resultOf(c: Candidate, attempts: Schema["AttemptView"][]): string {
  const own = attempts.filter((attempt) => attempt.model === c.model && attempt.provider === c.provider);
  if (own.some((attempt) => attempt.class === null)) {
    return c.rank === 1 ? "Chosen, served" : "Served as fallback";
  }
  if (own.length > 0) {
    return c.rank === 1 ? "Chosen, failed" : "Failed";
  }
  if (c.rank === 1) {
    return "Chosen";
  }
  return attempts.length === 0 ? "" : "Not tried";
}

/** Reports whether another decision on the same request chose or excluded a candidate differently. */
export function candidateDiffers(c: Candidate, against: Decision | undefined): boolean {
  if (!against) {
    return false;
  }
  const other = against.candidates.find((o) => o.target === c.target);
  return (
    (c.rank === 1) !== (other?.rank === 1) ||
    Boolean(c.excluded) !== Boolean(other?.excluded) ||
    c.excluded?.reason !== other?.excluded?.reason
  );
}

/** Reports whether a policy had another effect, or none, in another decision on the same request. */
export function hitDiffers(hit: Schema["PolicyHit"], against: Schema["PolicyHit"][] | undefined): boolean {
  if (!against) {
    return false;
  }
  const other = against.find((o) => o.name === hit.name && o.source === hit.source);
  return !other || other.matched !== hit.matched || other.effect !== hit.effect;
}
