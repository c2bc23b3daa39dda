import type { Schema } from "../../api/client";
import type { Policy } from "../../api/routing";
import { formatMoney } from "../../lib/money";
import { formatCount } from "../../lib/numbers";

/** The effects of policies, in the order of the YAML fields. */
export const effects = [
  { name: "deny", label: "Deny requests" },
  { name: "pin", label: "Pin a model" },
  { name: "allow", label: "Allow only some models" },
  { name: "exclude", label: "Exclude models" },
  { name: "prefer", label: "Prefer models" },
  { name: "objective", label: "Set the objective" },
  { name: "max_cost_usd", label: "Limit cost per request" },
  { name: "max_output_tokens", label: "Limit output tokens" },
  { name: "max_escalation", label: "Limit escalation" },
  { name: "session_budget", label: "Limit spending per session" },
  { name: "baseline", label: "Set the baseline" },
  { name: "response_cache", label: "Cache responses" },
  { name: "cache_marks", label: "Don’t set prompt-cache markers" },
  { name: "log_bodies", label: "Don’t store prompts and responses" },
] as const;

/** The name of an effect, which is its YAML field. */
export type Effect = (typeof effects)[number]["name"];

/** The effects of a policy. */
export function effectsOf(policy: Policy): Effect[] {
  return effects.map(({ name }) => name).filter((name) => policy[name] !== undefined);
}

/** Adds an effect with an initial value. */
export function withEffect(policy: Policy, effect: Effect): Policy {
  const initial: Required<Pick<Policy, Effect>> = {
    deny: "",
    pin: "",
    allow: { models: [] },
    exclude: { models: [] },
    prefer: [],
    objective: "cost",
    max_cost_usd: "0.05",
    max_output_tokens: 1000,
    max_escalation: 0,
    session_budget: { amount_usd: "5", downgrade: true },
    baseline: "",
    response_cache: "1h",
    cache_marks: false,
    log_bodies: false,
  };
  return { ...policy, [effect]: initial[effect] };
}

/** Removes an effect. */
export function withoutEffect(policy: Policy, effect: Effect): Policy {
  return Object.fromEntries(Object.entries(policy).filter(([name]) => name !== effect)) as unknown as Policy;
}

/** Describes a policy, one phrase per effect. */
export function effectWords(policy: Policy): string[] {
  const words: string[] = [];
  if (policy.deny !== undefined) {
    words.push(`Denies: “${policy.deny}”`);
  }
  if (policy.pin !== undefined) {
    words.push(`Pins ${policy.pin || "…"}`);
  }
  if (policy.allow) {
    words.push(`Allows only ${selectorWords(policy.allow, " and ")}`);
  }
  if (policy.exclude) {
    words.push(`Excludes ${selectorWords(policy.exclude, " and ")}`);
  }
  if (policy.prefer) {
    words.push(`Prefers ${policy.prefer.join(", then ") || "…"}`);
  }
  if (policy.objective !== undefined) {
    words.push(objectiveWords(policy.objective));
  }
  if (policy.max_cost_usd !== undefined) {
    words.push(`Max ${money(policy.max_cost_usd)} per request`);
  }
  if (policy.max_output_tokens !== undefined) {
    words.push(`Max ${formatCount(policy.max_output_tokens)} output tokens`);
  }
  if (policy.max_escalation !== undefined) {
    words.push(
      policy.max_escalation === 0 ? "No escalation" : `Max ${policy.max_escalation} escalation steps`,
    );
  }
  if (policy.session_budget) {
    const { amount_usd, downgrade, warn_percent } = policy.session_budget;
    words.push(
      `Max ${money(amount_usd)} per session${downgrade ? `, auto:cost from ${warn_percent ?? 80} %` : ""}`,
    );
  }
  if (policy.baseline !== undefined) {
    words.push(`Baseline: ${policy.baseline || "…"}`);
  }
  if (policy.response_cache !== undefined) {
    words.push(
      policy.response_cache === "off"
        ? "Doesn’t cache responses"
        : `Caches responses for ${policy.response_cache || "…"}`,
    );
  }
  if (policy.cache_marks === false) {
    words.push("Doesn’t set prompt-cache markers");
  }
  if (policy.log_bodies === false) {
    words.push("Doesn’t store prompts and responses");
  }
  return words;
}

function money(text: string): string {
  return /^\d*\.?\d+$/.test(text) ? formatMoney(text) : `$${text}`;
}

/** Describes the lists of a selector. A target must match all lists for allow, any list for exclude. */
function selectorWords(selector: Schema["Selector"], glue: string): string {
  const lists = [
    ["models", selector.models],
    ["providers", selector.providers],
    ["tags", selector.tags],
  ] as const;
  const words = lists.flatMap(([kind, names]) => (names?.length ? [`${kind} ${names.join(", ")}`] : []));
  return words.join(glue) || "…";
}

/** Describes an objective. */
export function objectiveWords(objective: string): string {
  const named: Record<string, string> = {
    cost: "Objective: lowest cost",
    quality: "Objective: best quality",
    speed: "Objective: lowest latency",
  };
  return named[objective] ?? `Objective: ${objective} (0 cheapest, 1 best)`;
}
