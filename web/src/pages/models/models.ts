import type { Schema } from "../../api/client";
import type { Circuit } from "../../components/CircuitBadge";
import type { Search } from "../../lib/filters";
import { formatPrice, parseNano } from "../../lib/money";
import type { CatalogModel } from "./scatter";

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
  { value: "connected", label: "Connected" },
  { value: "unconnected", label: "Not connected" },
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

/** The models that match the filters: those with the most requests first, then those with a connected provider. */
export function chosenModels<M extends Model>(models: M[], choice: Choice): M[] {
  const words = choice.q.toLowerCase().split(/\s+/).filter(Boolean);
  return models
    .filter((m) => m.kind === choice.kind)
    .filter((m) => words.every((word) => textOf(m).includes(word)))
    .filter((m) => !choice.provider || m.targets.some((t) => t.provider === choice.provider))
    .filter((m) => !choice.ability || m.abilities.includes(choice.ability))
    .filter((m) => shown(m, choice.show))
    .sort(
      (a, b) =>
        b.traffic.requests - a.traffic.requests ||
        Number(b.targets.length > 0) - Number(a.targets.length > 0) ||
        a.name.localeCompare(b.name),
    );
}

function textOf(m: Model): string {
  return [m.name, m.vendor, m.family, ...m.aliases, ...m.targets.map((t) => t.provider)]
    .join(" ")
    .toLowerCase();
}

function shown(m: Model, show: string | undefined): boolean {
  switch (show) {
    case "connected":
      return m.targets.length > 0;
    case "unconnected":
      return m.targets.length === 0;
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

/** The time to first token: the median of the last 24 hours, or the time of the fastest target in its latest calls. */
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

/** Sorts capabilities, the most distinctive capabilities first. */
export function notableFirst(abilities: string[]): string[] {
  const rank = (ability: string) => (notable.includes(ability) ? notable.indexOf(ability) : notable.length);
  return [...abilities].sort((a, b) => rank(a) - rank(b));
}

/** Formats a capability: json_schema becomes "JSON schema". */
export function abilityText(ability: string): string {
  return ability.replaceAll("_", " ").replace(/\bjson\b/, "JSON");
}

const needs: Record<string, string> = {
  default_sampling: "Rejects temperature, top_p, penalties and logprobs. The gateway drops them.",
  max_completion_tokens:
    "Accepts max_completion_tokens and rejects max_tokens. The gateway converts max_tokens.",
  tools_need_responses_api: "Accepts tools together with reasoning only on the Responses API.",
  no_responses_stream: "Does not stream on the Responses API.",
};

/** A restriction of a model in a sentence. */
export function needText(need: string): string {
  return needs[need] ?? need;
}

const offerNeeds: Record<string, string> = {
  invitation: "by invitation only",
  contributor: "requires consent to training on your requests",
  hosted_tools: "only with hosted tools",
};

/** What a provider requires in addition to a key. */
export function offerText(need: string): string {
  return offerNeeds[need] ?? need;
}

/** A model of the list. Models without a connected provider have no targets, and the list price. */
export type Row = Model & { market?: CatalogModel };

/** Adds the catalog models that no connected provider has, and adds the predicted quality to all models. */
export function withCatalog(models: Model[], catalog: CatalogModel[]): Row[] {
  const known = new Map(catalog.map((m) => [m.name, m]));
  const connected = new Set(models.map((m) => m.name));
  return [
    ...models.map((m) => ({ ...m, market: known.get(m.name) })),
    ...catalog.filter((m) => !m.connected && !connected.has(m.name)).map(unconnected),
  ];
}

function unconnected(m: CatalogModel): Row {
  return {
    name: m.name,
    vendor: m.vendor,
    family: m.family,
    kind: m.kind,
    context: m.context,
    max_output: null,
    abilities: m.abilities,
    quality: null,
    dimensions: [],
    aliases: [],
    released: null,
    deprecated: m.deprecated,
    open_weights: false,
    targets: [],
    traffic: noTraffic,
    share_percent: null,
    market: m,
  };
}

const noTraffic: Model["traffic"] = {
  requests: 0,
  served: 0,
  attempts: 0,
  failed_attempts: 0,
  errors: 0,
  rejected: 0,
  expected: 0,
  fallbacks: 0,
  policies: 0,
  priced: 0,
  compared: 0,
  cost_usd: "0",
  baseline_cost_usd: "0",
  saved_usd: "0",
  saved_percent: null,
  coverage_percent: null,
  priced_percent: null,
  error_percent: null,
  failed_attempt_percent: null,
  fallback_percent: null,
  input_tokens: 0,
  cached_tokens: 0,
  output_tokens: 0,
  cache_hits: 0,
  cache_saved_usd: "0",
  latency_p50_ms: null,
  latency_p95_ms: null,
  ttft_p50_ms: null,
};
