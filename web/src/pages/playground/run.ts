import type { Schema } from "../../api/client";
import type { ApiError } from "../../api/errors";
import { nanoText, parseNano } from "../../lib/money";

/** Facts about a request, filled in as headers and events arrive. */
export interface Facts {
  requestId?: string;
  decision?: string;
  model?: string;
  provider?: string;
  policy?: string;
  attempts?: number;
  baselineModel?: string;
  simulated?: boolean;
  /** Dollars as decimal strings; null when unknown. */
  cost?: string | null;
  baselineCost?: string | null;
  tokens?: Tokens;
  trace?: Schema["Decision"];
  attemptList?: Attempt[];
}

/** Tokens in disjoint classes, as the gateway counts them. */
export type Tokens = Pick<
  Schema["Tokens"],
  "input" | "cache_read" | "cache_write" | "output" | "reasoning"
> & {
  estimated?: boolean;
};

/** One attempt in the trace of a response. */
export interface Attempt {
  provider: string;
  model: string;
  status?: number;
  class?: string;
  message?: string;
}

/** A tool call of the model. */
export interface ToolCall {
  name: string;
  arguments: string;
}

/** One response, streaming or finished. */
export interface Run {
  state: "waiting" | "streaming" | "done" | "stopped" | "failed";
  text: string;
  reasoning: string;
  calls: ToolCall[];
  finish?: string;
  facts: Facts;
  /** Milliseconds measured by the browser. */
  ttftMs?: number;
  totalMs?: number;
  error?: ApiError;
}

/** Creates a run that waits for its response. */
export function newRun(): Run {
  return { state: "waiting", text: "", reasoning: "", calls: [], facts: {} };
}

/** Reports whether a run is not finished. */
export function isRunning(run: Run | undefined): boolean {
  return run?.state === "waiting" || run?.state === "streaming";
}

/** Extracts facts from the response headers, which arrive before the first token. */
export function factsOfHeaders(headers: Headers): Facts {
  const text = (name: string) => headers.get(name) || undefined;
  const attempts = text("x-fairlead-attempts");
  return clean({
    requestId: text("x-request-id"),
    decision: text("x-fairlead-decision"),
    model: text("x-fairlead-model"),
    provider: text("x-fairlead-provider"),
    policy: text("x-fairlead-policy"),
    attempts: attempts ? Number(attempts) : undefined,
    baselineModel: text("x-fairlead-baseline-model"),
    simulated: text("x-fairlead-simulated") === "true" || undefined,
    cost: text("x-fairlead-cost"),
    baselineCost: text("x-fairlead-baseline-cost"),
  });
}

/** The field "fairlead" of a response, of the last chunk of a stream, and of errors. */
export interface TraceField {
  attempts?: Attempt[] | null;
  baseline_cost_usd?: string | null;
  baseline_model?: string;
  cost_usd?: string | null;
  decision?: string;
  model?: string;
  provider?: string;
  policy?: string;
  request_id?: string;
  trace?: Schema["Decision"] | null;
  usage?: Tokens | null;
}

/** Extracts facts from the trace at the end of a response. */
export function factsOfTrace(field: TraceField): Facts {
  const used = field.usage && field.usage.input + field.usage.output + field.usage.cache_read > 0;
  return clean({
    requestId: field.request_id || undefined,
    decision: field.decision || undefined,
    model: field.model || undefined,
    provider: field.provider || undefined,
    policy: field.policy || undefined,
    attempts: field.attempts?.length,
    baselineModel: field.baseline_model || undefined,
    cost: field.cost_usd,
    baselineCost: field.baseline_cost_usd,
    tokens: (used && field.usage) || undefined,
    trace: field.trace ? { ...field.trace, candidates: field.trace.candidates ?? [] } : undefined,
    attemptList: field.attempts ?? undefined,
  });
}

/** The shown fields of a chat completion chunk. */
export interface Chunk {
  choices?: {
    delta?: {
      content?: string | null;
      reasoning_content?: string | null;
      reasoning?: string | null;
      refusal?: string | null;
      tool_calls?: { index?: number; function?: { name?: string; arguments?: string } }[] | null;
    };
    finish_reason?: string | null;
  }[];
  fairlead?: TraceField;
}

/** Adds a chunk to a run; ms is the time since the request was sent. */
export function addChunk(run: Run, chunk: Chunk, ms: number): Run {
  const next: Run = { ...run, state: "streaming" };
  const choice = chunk.choices?.[0];
  const delta = choice?.delta;
  next.text += (delta?.content ?? "") + (delta?.refusal ?? "");
  next.reasoning += delta?.reasoning_content ?? delta?.reasoning ?? "";
  if (delta?.tool_calls) {
    next.calls = addCalls(run.calls, delta.tool_calls);
  }
  const hasContent = next.text !== run.text || next.reasoning !== run.reasoning || next.calls !== run.calls;
  if (hasContent && next.ttftMs === undefined) {
    next.ttftMs = ms;
  }
  next.finish = choice?.finish_reason ?? next.finish;
  if (chunk.fairlead) {
    next.facts = { ...next.facts, ...factsOfTrace(chunk.fairlead) };
  }
  return next;
}

type CallDelta = { index?: number; function?: { name?: string; arguments?: string } };

function addCalls(calls: ToolCall[], deltas: CallDelta[]): ToolCall[] {
  const next = [...calls];
  for (const delta of deltas) {
    const at = delta.index ?? next.length;
    const before = next[at] ?? { name: "", arguments: "" };
    next[at] = {
      name: before.name + (delta.function?.name ?? ""),
      arguments: before.arguments + (delta.function?.arguments ?? ""),
    };
  }
  return next;
}

/** The amount saved compared with the baseline; null when either amount is unknown. */
export function savedOf(facts: Facts): string | null {
  if (facts.cost == null || facts.baselineCost == null) {
    return null;
  }
  return nanoText(parseNano(facts.baselineCost) - parseNano(facts.cost));
}

/** The saving as a percentage of the baseline; null when unknown or the baseline is free. */
export function savedPercent(facts: Facts): number | null {
  const saved = savedOf(facts);
  return saved === null || Number(facts.baselineCost) === 0
    ? null
    : (100 * Number(saved)) / Number(facts.baselineCost);
}

/** Totals of several runs. An amount is known only if it is known for every finished run. */
export interface Totals {
  runs: number;
  failed: number;
  cost: string | null;
  baselineCost: string | null;
  saved: string | null;
  tokensIn: number;
  tokensOut: number;
}

/** Computes the totals of the finished runs. */
export function sumRuns(runs: Run[]): Totals {
  const ended = runs.filter((run) => !isRunning(run));
  const paid = ended.filter((run) => run.state !== "failed" || run.facts.cost != null);
  const cost = sumKnown(paid.map((run) => run.facts.cost));
  const baselineCost = sumKnown(paid.map((run) => run.facts.baselineCost));
  const saved =
    cost !== null && baselineCost !== null ? nanoText(parseNano(baselineCost) - parseNano(cost)) : null;
  return {
    runs: ended.length,
    failed: ended.filter((run) => run.state === "failed").length,
    cost,
    baselineCost,
    saved,
    tokensIn: total(ended, (t) => t.input + t.cache_read + t.cache_write),
    tokensOut: total(ended, (t) => t.output),
  };
}

function total(runs: Run[], of: (tokens: Tokens) => number): number {
  return runs.reduce((sum, run) => sum + (run.facts.tokens ? of(run.facts.tokens) : 0), 0);
}

function sumKnown(amounts: (string | null | undefined)[]): string | null {
  if (amounts.length === 0 || amounts.some((amount) => amount == null)) {
    return null;
  }
  return nanoText(amounts.reduce((sum, amount) => sum + parseNano(amount ?? "0"), 0n));
}

/** Removes undefined fields, so that spreading the result does not overwrite known ones. */
function clean(facts: Facts): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Facts;
}
