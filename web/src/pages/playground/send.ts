import { signedOutEvent } from "../../api/client";
import { ApiError, readError } from "../../api/errors";
import { setReachable } from "../../lib/reachable";
import { readEvents } from "../../lib/sse";
import { storedText } from "../../lib/stored";
import { addChunk, type Chunk, factsOfHeaders, factsOfTrace, newRun, type Run, type TraceField } from "./run";

/** Minimum time between repaints of a streaming run, in milliseconds. */
const repaintMs = 50;

/**
 * sendChat sends a chat request on the dashboard session. It calls onChange with the run at most every 50 ms and at the
 * end, and returns the final run. It never throws: a failed run has its error, a stopped run keeps its text.
 */
export async function sendChat(
  body: object,
  signal: AbortSignal,
  onChange: (run: Run) => void,
): Promise<Run> {
  const start = performance.now();
  const elapsed = () => Math.round(performance.now() - start);
  const throttle = newThrottle(onChange);
  let run = newRun();
  try {
    const response = await post(body, signal);
    run = { ...run, facts: factsOfHeaders(response.headers) };
    throttle.update(run);
    if (!response.ok || !response.body) {
      throw await failure(response, (field) => {
        run = { ...run, facts: { ...run.facts, ...factsOfTrace(field) } };
      });
    }
    for await (const event of readEvents(response.body)) {
      if (event.data === "[DONE]") {
        continue; // the stream is read to its end, because stopping here would count as a disconnect
      }
      const chunk = JSON.parse(event.data) as Chunk & StreamError;
      run = addChunk(run, chunk, elapsed());
      if (chunk.error !== undefined) {
        throw streamError(chunk, run.facts.requestId);
      }
      throttle.update(run);
    }
    run = run.finish ? { ...run, state: "done" } : { ...run, state: "failed", error: interrupted(run) };
  } catch (error) {
    run = signal.aborted
      ? { ...run, state: "stopped" }
      : { ...run, state: "failed", error: asFailure(error) };
  }
  run = { ...run, totalMs: elapsed() };
  throttle.end(run);
  return run;
}

async function post(body: object, signal: AbortSignal): Promise<Response> {
  const workspace = storedText("workspace");
  const query = workspace ? `?workspace=${encodeURIComponent(workspace)}` : "";
  const response = await fetch(`/api/v1/playground/chat/completions${query}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-fairlead-trace": "full" },
    body: JSON.stringify({ ...body, stream: true }),
    signal,
  });
  setReachable(true);
  if (response.status === 401) {
    window.dispatchEvent(new Event(signedOutEvent));
  }
  return response;
}

/** Parses an error response and its trace. */
async function failure(response: Response, onTrace: (field: TraceField) => void): Promise<ApiError> {
  const copy = response.clone();
  const error = await readError(response);
  const body = (await copy.json().catch(() => ({}))) as { fairlead?: TraceField };
  if (body.fairlead) {
    onTrace(body.fairlead);
  }
  return error;
}

/** An error inside a stream. */
interface StreamError {
  error?: unknown;
  code?: string;
  details?: ApiError["details"];
}

function streamError(chunk: StreamError, requestId = ""): ApiError {
  const message = typeof chunk.error === "string" ? chunk.error : "The stream ended with an error.";
  return new ApiError(
    chunk.code ?? "STREAM_ERROR",
    message,
    0,
    chunk.details?.request_id ?? requestId,
    chunk.details,
  );
}

function interrupted(run: Run): ApiError {
  return new ApiError(
    "STREAM_INTERRUPTED",
    "The response was interrupted before it was complete.",
    0,
    run.facts.requestId ?? "",
  );
}

function asFailure(error: unknown): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  if (error instanceof TypeError) {
    setReachable(false);
    return new ApiError(
      "UNREACHABLE",
      "The connection to the gateway was lost. Check your connection and that the gateway is running.",
      0,
      "",
    );
  }
  return new ApiError("UNEXPECTED_RESPONSE", `Could not parse the response: ${String(error)}`, 0, "");
}

/** Passes on the latest run at most every repaintMs, and the final one immediately. */
function newThrottle(onChange: (run: Run) => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest: Run | undefined;
  return {
    update(run: Run) {
      latest = run;
      timer ??= setTimeout(() => {
        timer = undefined;
        if (latest) {
          onChange(latest);
        }
      }, repaintMs);
    },
    end(run: Run) {
      clearTimeout(timer);
      timer = undefined;
      latest = undefined;
      onChange(run);
    },
  };
}
