import { api, must, type Schema } from "../../api/client";
import type { Facts, Run } from "./run";

/** Delays between lookups of a stopped request in the log, in milliseconds. */
const delays = [500, 1500, 3000];

/**
 * settle adds cost and tokens from the log to a stopped run, whose stream ended before it reported them. Other runs, and
 * runs that the log does not have, are returned unchanged.
 */
export async function settle(run: Run): Promise<Run> {
  const id = run.facts.requestId;
  if (run.state !== "stopped" || !id) {
    return run;
  }
  for (const delay of delays) {
    await new Promise((done) => setTimeout(done, delay));
    try {
      const request = await must(api.GET("/requests/{id}", { params: { path: { id } } }));
      if (request.latency_ms !== null) {
        return { ...run, facts: { ...run.facts, ...factsOfRequest(request) } };
      }
    } catch {
      // Not in the log yet, or no permission to read it.
    }
  }
  return run;
}

function factsOfRequest(request: Schema["RequestDetail"]): Facts {
  return {
    cost: request.cost_usd,
    baselineCost: request.baseline_cost_usd,
    baselineModel: request.baseline_model ?? undefined,
    tokens: request.tokens ?? undefined,
    trace: request.trace ? { ...request.trace, candidates: request.trace.candidates ?? [] } : undefined,
  };
}
