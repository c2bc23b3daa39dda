import type { Schema } from "../../api/client";
import type { Policy } from "../../api/routing";
import { formatMoney } from "../../lib/money";
import { formatCount } from "../../lib/numbers";

/** The effects that a policy can have, in the order in which the text has them. */
export const effects = [
  { name: "deny", label: "Refuse the request" },
  { name: "pin", label: "Pin one model" },
  { name: "allow", label: "Allow only some models" },
  { name: "exclude", label: "Leave some models out" },
  { name: "prefer", label: "Prefer some models" },
  { name: "objective", label: "Set what the router aims for" },
  { name: "max_cost_usd", label: "Limit what a request may cost" },
  { name: "max_output_tokens", label: "Limit the answer’s length" },
  { name: "baseline", label: "Name the baseline" },
  { name: "log_bodies", label: "Keep texts out of the log" },
] as const;

/** The name of an effect, as the field in the text. */
export type Effect = (typeof effects)[number]["name"];

/** The effects that a policy has. */
export function effectsOf(policy: Policy): Effect[] {
  return effects.map(({ name }) => name).filter((name) => policy[name] !== undefined);
}

/** The policy with one more effect, not filled in yet. */
export function withEffect(policy: Policy, effect: Effect): Policy {
  const begin: Required<Pick<Policy, Effect>> = {
    deny: "",
    pin: "",
    allow: { models: [] },
    exclude: { models: [] },
    prefer: [],
    objective: "cost",
    max_cost_usd: "0.05",
    max_output_tokens: 1000,
    baseline: "",
    log_bodies: false,
  };
  return { ...policy, [effect]: begin[effect] };
}

/** The policy without an effect. */
export function withoutEffect(policy: Policy, effect: Effect): Policy {
  return Object.fromEntries(Object.entries(policy).filter(([name]) => name !== effect)) as unknown as Policy;
}

/** Says in words what a policy does, one phrase for each effect. */
export function effectWords(policy: Policy): string[] {
  const words: string[] = [];
  if (policy.deny !== undefined) {
    words.push(`refuses: “${policy.deny}”`);
  }
  if (policy.pin !== undefined) {
    words.push(`pins ${policy.pin || "…"}`);
  }
  if (policy.allow) {
    words.push(`allows only ${selectorWords(policy.allow, " and ")}`);
  }
  if (policy.exclude) {
    words.push(`leaves out ${selectorWords(policy.exclude, " and ")}`);
  }
  if (policy.prefer) {
    words.push(`prefers ${policy.prefer.join(", then ") || "…"}`);
  }
  if (policy.objective !== undefined) {
    words.push(objectiveWords(policy.objective));
  }
  if (policy.max_cost_usd !== undefined) {
    words.push(`at most ${money(policy.max_cost_usd)} a request`);
  }
  if (policy.max_output_tokens !== undefined) {
    words.push(`answers of at most ${formatCount(policy.max_output_tokens)} tokens`);
  }
  if (policy.baseline !== undefined) {
    words.push(`savings against ${policy.baseline || "…"}`);
  }
  if (policy.log_bodies === false) {
    words.push("texts are not stored");
  }
  return words;
}

function money(text: string): string {
  return /^\d*\.?\d+$/.test(text) ? formatMoney(text) : `$${text}`;
}

/** Lists of different kinds: for allow a target must be in each of them, for exclude in any. */
function selectorWords(selector: Schema["Selector"], glue: string): string {
  const lists = [
    ["models", selector.models],
    ["providers", selector.providers],
    ["tags", selector.tags],
  ] as const;
  const words = lists.flatMap(([kind, names]) => (names?.length ? [`${kind} ${names.join(", ")}`] : []));
  return words.join(glue) || "…";
}

/** What the router aims for, in words. */
export function objectiveWords(objective: string): string {
  const named: Record<string, string> = {
    cost: "aims for the lowest cost",
    quality: "aims for the best answer",
    speed: "aims for the fastest answer",
  };
  return named[objective] ?? `aims for ${objective} (0 cheapest, 1 best)`;
}
