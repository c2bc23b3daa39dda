import type { Schema } from "../../api/client";
import type { Circuit } from "../../components/CircuitBadge";
import type { Search } from "../../lib/filters";
import { formatPrice, parseNano } from "../../lib/money";

/** A model with its targets. */
export type Model = Schema["ModelView"];
/** A model at a provider. */
export type Target = Schema["TargetView"];
/** A model that is only in a provider's model list. */
export type NewModel = Schema["NewModelView"];
/** A price card. */
export type Price = Schema["PriceView"];

/** The kinds of models, by their URL value. */
export const kinds = [
  { value: "chat", label: "Chat" },
  { value: "embeddings", label: "Embedding" },
] as const;

/** Further filters of the model list, by their URL value. */
export const shows = [
  { value: "used", label: "Used in the last 24 h" },
  { value: "unhealthy", label: "Unhealthy" },
  { value: "unpriced", label: "No price" },
] as const;

/** The filters of the model list, as in the URL. */
export interface Choice {
  q: string;
  kind: string;
  provider?: string;
  ability?: string;
  show?: string;
}

/** Extracts the filters from the URL. The default kind is chat. */
export function choiceOf(search: Search): Choice {
  return {
    q: search.q ?? "",
    kind: search.kind === "embeddings" ? "embeddings" : "chat",
    provider: search.provider,
    ability: search.ability,
    show: search.show,
  };
}

/** The models that match the filters, those with the most requests first. */
export function chosenModels(models: Model[], choice: Choice): Model[] {
  const words = choice.q.toLowerCase().split(/\s+/).filter(Boolean);
  return models
    .filter((m) => m.kind === choice.kind)
    .filter((m) => words.every((word) => textOf(m).includes(word)))
    .filter((m) => !choice.provider || m.targets.some((t) => t.provider === choice.provider))
    .filter((m) => !choice.ability || m.abilities.includes(choice.ability))
    .filter((m) => shown(m, choice.show))
    .sort((a, b) => b.traffic.requests - a.traffic.requests || a.name.localeCompare(b.name));
}

function textOf(m: Model): string {
  return [m.name, m.vendor, m.family, ...m.aliases, ...m.targets.map((t) => t.provider)]
    .join(" ")
    .toLowerCase();
}

function shown(m: Model, show: string | undefined): boolean {
  switch (show) {
    case "used":
      return m.traffic.requests > 0;
    case "unhealthy":
      return worstCircuit(m.targets).circuit !== "closed";
    case "unpriced":
      return isUnpriced(m);
    default:
      return true;
  }
}

/** Reports whether a model exists only in the simulator. */
export function isSimulated(m: Model): boolean {
  return m.targets.length > 0 && m.targets.every((t) => t.simulated);
}

/** Reports whether no target of a model has a price. */
export function isUnpriced(m: Model): boolean {
  return m.targets.length > 0 && m.targets.every((t) => !t.price);
}

/** The lowest price of a model, and whether its targets have different prices. */
export function bestPrice(targets: Target[]): { price: Price; differs: boolean } | undefined {
  const prices = targets.flatMap((t) => (t.price ? [t.price] : []));
  const sum = (p: Price) => parseNano(p.input_per_mtok_usd) + parseNano(p.output_per_mtok_usd);
  const [price, ...others] = [...prices].sort((a, b) => Number(sum(a) - sum(b)));
  return price && { price, differs: others.some((p) => sum(p) !== sum(price)) };
}

/** Formats a price without trailing zeros: $2.50, $0.15, $0.025. */
export function formatListPrice(amount: string): string {
  return formatPrice(amount).replace(/(\.\d\d\d*?)0+$/, "$1");
}

const severity: Record<string, number> = { closed: 0, half_open: 1, open: 2 };

/** The worst circuit state of several targets and how many are in it. */
export function worstCircuit(targets: Target[]): {
  circuit: Circuit;
  reason: string | null;
  nextProbe: string | null;
  part: { of: number; count: number };
} {
  const [worst] = [...targets].sort(
    (a, b) =>
      (severity[b.health.circuit] ?? 0) - (severity[a.health.circuit] ?? 0) ||
      nextProbeMs(a) - nextProbeMs(b),
  );
  const circuit = (worst?.health.circuit ?? "closed") as Circuit;
  return {
    circuit,
    reason: worst?.health.reason_text ?? null,
    nextProbe: worst?.health.next_probe ?? null,
    part: { of: targets.length, count: targets.filter((t) => t.health.circuit === circuit).length },
  };
}

function nextProbeMs(t: Target): number {
  return t.health.next_probe ? Date.parse(t.health.next_probe) : 0;
}

/** The time to first token: the median of the last 24 hours, or that of the fastest target's latest calls. */
export function typicalTtft(m: Model): number | null {
  if (m.traffic.ttft_p50_ms != null) {
    return m.traffic.ttft_p50_ms;
  }
  const recent = m.targets.flatMap((t) => (t.health.ttft_ms == null ? [] : [t.health.ttft_ms]));
  return recent.length === 0 ? null : Math.min(...recent);
}

/** The distinct values of all models, sorted. */
export function valuesOf(models: Model[], values: (m: Model) => string[]): string[] {
  return [...new Set(models.flatMap(values))].sort();
}

const notable = ["reasoning", "vision", "tools", "audio_in", "audio_out", "files", "json_schema"];

/** Sorts capabilities, distinguishing ones first. */
export function notableFirst(abilities: string[]): string[] {
  const rank = (ability: string) => (notable.includes(ability) ? notable.indexOf(ability) : notable.length);
  return [...abilities].sort((a, b) => rank(a) - rank(b));
}

/** Formats a capability: json_schema becomes "JSON schema". */
export function abilityText(ability: string): string {
  return ability.replaceAll("_", " ").replace(/\bjson\b/, "JSON");
}
