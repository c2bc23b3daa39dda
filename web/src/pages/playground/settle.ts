import { api, must, type Schema } from "../../api/client";
import type { Facts, Run } from "./run";

/** When to look for a stopped request in the log, in milliseconds after each other. */
const waits = [500, 1500, 3000];

/**
 * settle asks the log what a stopped run came to: its stream was cut before it told. Other runs, and what cannot be
 * found out, stay as they are.
 */
export async function settle(run: Run): Promise<Run> {
  const id = run.facts.requestId;
  if (run.state !== "stopped" || !id) {
    return run;
  }
  for (const wait of waits) {
    await new Promise((done) => setTimeout(done, wait));
    try {
      const request = await must(api.GET("/requests/{id}", { params: { path: { id } } }));
      if (request.latency_ms !== null) {
        return { ...run, facts: { ...run.facts, ...factsOfRequest(request) } };
      }
    } catch {
      // Not in the log yet, or not ours to read.
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
