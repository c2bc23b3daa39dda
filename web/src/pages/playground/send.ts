import { signedOutEvent } from "../../api/client";
import { ApiError, readError } from "../../api/errors";
import { setReachable } from "../../lib/reachable";
import { readEvents } from "../../lib/sse";
import { storedText } from "../../lib/stored";
import { addChunk, type Chunk, factsOfHeaders, factsOfTrace, newRun, type Run, type TraceField } from "./run";

/** How often a run that streams is shown again, in milliseconds. */
const repaintMs = 50;

/**
 * sendChat sends a chat request on the session and tells how the run stands, at most every 50 ms and at its end, which
 * it also returns. It never throws: a run that failed carries its error, one that was stopped keeps what it has.
 */
export async function sendChat(
  body: object,
  signal: AbortSignal,
  onChange: (run: Run) => void,
): Promise<Run> {
  const began = performance.now();
  const since = () => Math.round(performance.now() - began);
  const painter = newPainter(onChange);
  let run = newRun();
  try {
    const response = await post(body, signal);
    run = { ...run, facts: factsOfHeaders(response.headers) };
    painter.show(run);
    if (!response.ok || !response.body) {
      throw await failure(response, (field) => {
        run = { ...run, facts: { ...run.facts, ...factsOfTrace(field) } };
      });
    }
    for await (const event of readEvents(response.body)) {
      if (event.data === "[DONE]") {
        continue; // the end follows; leaving before it would look like a client that hung up
      }
      const chunk = JSON.parse(event.data) as Chunk & StreamError;
      run = addChunk(run, chunk, since());
      if (chunk.error !== undefined) {
        throw streamError(chunk, run.facts.requestId);
      }
      painter.show(run);
    }
    run = run.finish ? { ...run, state: "done" } : { ...run, state: "failed", error: cutShort(run) };
  } catch (error) {
    run = signal.aborted
      ? { ...run, state: "stopped" }
      : { ...run, state: "failed", error: asFailure(error) };
  }
  run = { ...run, totalMs: since() };
  painter.end(run);
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

/** Reads an error answer; its trace says what was tried. */
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
  const message = typeof chunk.error === "string" ? chunk.error : "The answer ended with an error.";
  return new ApiError(
    chunk.code ?? "STREAM_ERROR",
    message,
    0,
    chunk.details?.request_id ?? requestId,
    chunk.details,
  );
}

function cutShort(run: Run): ApiError {
  return new ApiError(
    "STREAM_CUT",
    "The answer broke off before it was complete.",
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
      "The connection to the gateway broke. Check that it runs and that you are connected.",
      0,
      "",
    );
  }
  return new ApiError("UNEXPECTED_ANSWER", `The answer could not be read: ${String(error)}`, 0, "");
}

/** Shows the latest run at most every repaintMs; the last one at once. */
function newPainter(onChange: (run: Run) => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest: Run | undefined;
  return {
    show(run: Run) {
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
