import { useQuery } from "@tanstack/react-query";

import type { Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { requestBodyQuery, requestQuery } from "../../api/queries";
import { lastTurn } from "../requests/compare";
import { type Replay, replayOf } from "./draft";
import { newRun, type Run } from "./run";

/** The logged response that other models are compared with. */
export interface Logged {
  id: string;
  model: string;
  run: Run;
  /** The models that the router ranked next. */
  runnersUp: string[];
}

/** A stored request, or the reason why it cannot be opened. */
export interface ReplayState {
  pending: boolean;
  start?: Replay;
  logged?: Logged;
  problem?: string;
}

/**
 * useReplay loads a stored request into the playground; without an id it does nothing. To compare, it also loads the logged
 * response.
 */
export function useReplay(id: string | undefined, compare: boolean): ReplayState {
  const body = useQuery({ ...requestBodyQuery(id ?? ""), enabled: Boolean(id) });
  const request = useQuery({ ...requestQuery(id ?? ""), enabled: Boolean(id) && compare });
  if (!id) {
    return { pending: false };
  }
  const error = body.error ?? request.error;
  if (error) {
    return { pending: false, problem: `Could not open ${id}: ${asApiError(error).message}` };
  }
  if (!body.data || (compare && !request.data)) {
    return { pending: true };
  }
  if (!body.data.request) {
    return {
      pending: false,
      problem: `Could not open ${id}: ${body.data.reason ?? "The prompt is not stored."}`,
    };
  }
  const start = replayOf(body.data.chat_request ?? body.data.request);
  if (!start) {
    return { pending: false, problem: `${id} is not a chat request.` };
  }
  const missing = body.data.missing_parts > 0 ? (body.data.reason ?? undefined) : undefined;
  return {
    pending: false,
    start,
    problem: missing && `The request is not complete. ${missing}`,
    logged: request.data && loggedOf(request.data, body.data),
  };
}

/** The logged response as a finished run; undefined if the request was not served. */
function loggedOf(request: Schema["RequestDetail"], body: Schema["RequestBody"]): Logged | undefined {
  if (request.model === null || request.outcome !== "ok") {
    return undefined;
  }
  const models = (request.trace?.candidates ?? [])
    .filter((c) => !c.excluded && c.rank)
    .sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0))
    .map((c) => c.model);
  return {
    id: request.id,
    model: request.model,
    run: {
      ...newRun(),
      state: "done",
      text: lastTurn(body).response,
      finish: request.finish_reason ?? undefined,
      totalMs: request.latency_ms ?? undefined,
      ttftMs: request.stream ? (request.ttft_ms ?? undefined) : undefined,
      facts: {
        requestId: request.id,
        decision: request.decision ?? undefined,
        model: request.model,
        provider: request.provider ?? undefined,
        attempts: request.attempt_count,
        simulated: request.simulated,
        cost: request.cost_usd,
        tokens: request.tokens,
      },
    },
    runnersUp: [...new Set(models)].filter((model) => model !== request.model).slice(0, 2),
  };
}
