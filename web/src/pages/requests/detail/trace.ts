import type { Schema } from "../../../api/client";
import { formatQuality, formatCount, formatPercent } from "../../../lib/numbers";

type Decision = Schema["Decision"];
type Candidate = Schema["Candidate"];

/** Who named the baseline, in words. */
export const baselineWords: Record<string, string> = {
  caller: "the model that the caller named",
  header: "named by the request’s header",
  policy: "named by a policy",
  key: "the key’s",
  default: "the default model",
  priciest: "the priciest eligible candidate",
};

/** Something that the router saw in a request. */
export interface Feature {
  name: string;
  value: string;
  hint?: string;
}

/** What the router saw in a request; what is not there is left out. */
export function featuresOf(input: Schema["Input"]): Feature[] {
  const { sketch } = input;
  const list: [name: string, value: string | number | undefined, hint?: string][] = [
    ["asked for", input.model],
    ["objective", `${input.objective.name} (trade-off ${input.objective.tradeoff})`],
    ["task", sketch?.task.replaceAll("_", " "), "The kind of work, estimated from the prompt."],
    ["language", sketch?.language],
    [
      "like known prompts",
      sketch && input.predictor ? formatPercent(100 * sketch.known, 0) : undefined,
      "How much the prompt is like those that the predictor learned from. The less, the nearer it stays to what models can do on average.",
    ],
    ["input", `≈ ${formatCount(input.input_tokens)} tokens`],
    ["output at most", input.max_output ? `${formatCount(input.max_output)} tokens` : undefined],
    ["messages", input.messages || undefined],
    ["answers so far", input.turns || undefined],
    ["last answered by", input.last],
    ["images", input.images || undefined],
    ["needs", input.needs.join(", ")],
    ["stream", input.stream ? "yes" : undefined],
    ["dimensions", input.dimensions || undefined],
    ["key allows", input.allowed_models?.join(", ")],
    ["fallbacks asked for", input.controls?.models?.join(", ")],
    ["session", input.controls?.session_id],
  ];
  return list.flatMap(([name, value, hint]) =>
    value === undefined || value === "" ? [] : [{ name, value: String(value), hint }],
  );
}

/** What the router aims for, in a sentence. */
export function aimWords({ best, chance }: Schema["QualityTarget"]): string {
  const most = `The best model has a chance of ${formatQuality(best)} to answer well`;
  return chance < best
    ? `${most}; aimed at ${formatQuality(chance)}, and more is not paid for.`
    : `${most}, and that is what was aimed at.`;
}

/** The predicted chance with one standard deviation. */
export function chanceWords({ quality, spread }: Pick<Candidate, "quality" | "spread">): string {
  const chance = formatQuality(quality);
  return spread && !/[<>]/.test(chance) ? `${chance} ± ${spread.toFixed(2)}` : chance;
}

/** Says what became of a candidate: served, failed, chosen, or not needed. */
export function markOf(c: Candidate, attempts: Schema["AttemptView"][]): string {
  const own = attempts.filter((attempt) => attempt.model === c.model && attempt.provider === c.provider);
  if (own.some((attempt) => attempt.class === null)) {
    return c.rank === 1 ? "chosen, served" : "took over";
  }
  if (own.length > 0) {
    return c.rank === 1 ? "chosen, failed" : "tried, failed";
  }
  if (c.rank === 1) {
    return "chosen";
  }
  const answered = attempts.some((attempt) => attempt.class === null);
  return attempts.length === 0 ? "" : answered ? "not needed" : "not tried";
}

/** Whether a candidate fares otherwise in another decision on the same request. */
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

/** Whether a policy has another part, or none, in another decision on the same request. */
export function hitDiffers(hit: Schema["PolicyHit"], against: Schema["PolicyHit"][] | undefined): boolean {
  if (!against) {
    return false;
  }
  const other = against.find((o) => o.name === hit.name && o.source === hit.source);
  return !other || other.matched !== hit.matched || other.effect !== hit.effect;
}
