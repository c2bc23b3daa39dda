import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { notifyDone, notifyFailed } from "../lib/notify";
import { plural } from "../lib/numbers";
import { setReachable } from "../lib/reachable";
import { readEvents } from "../lib/sse";
import { storedText } from "../lib/stored";
import { signedOutEvent, type Schema } from "./client";
import { asApiError, readError } from "./errors";

// Sample traffic is made by one call that lasts as long as it takes. It goes on over a change of pages; closing the tab
// ends it, as Stop does.

/** How far sample traffic is. */
export type SampleRun = Schema["SampleProgress"];

let run: SampleRun | undefined;
let calling: AbortController | undefined;
const listeners = new Set<() => void>();

function set(next: SampleRun | undefined): void {
  run = next;
  for (const listener of listeners) {
    listener();
  }
}

/** The run under way; undefined when there is none. */
export function useSampleRun(): SampleRun | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => run,
  );
}

/** Ends the run under way; what was made stays. */
export function stopSamples(): void {
  calling?.abort();
}

const reloadMs = 2000;

/** Makes sample traffic. What the pages show is loaded again as it grows, and at the end, which is told in words. */
export async function createSamples(queryClient: QueryClient): Promise<void> {
  if (run) {
    return;
  }
  const controller = new AbortController();
  calling = controller;
  set({ done: 0, total: 0 });
  const reload = () =>
    void queryClient.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "session" });
  let reloaded = Date.now();
  let made = 0;
  try {
    await follow(controller.signal, (progress) => {
      made = progress.done;
      set(progress);
      if (Date.now() - reloaded > reloadMs) {
        reloaded = Date.now();
        reload();
      }
    });
    notifyDone(`${plural(made, "sample request")} created.`);
  } catch (error) {
    if (controller.signal.aborted) {
      notifyDone(`Stopped after ${plural(made, "sample request")}.`);
    } else {
      notifyFailed(`Sample traffic was not created: ${asApiError(error).message}`);
    }
  } finally {
    calling = undefined;
    set(undefined);
    reload();
  }
}

async function follow(signal: AbortSignal, onProgress: (progress: SampleRun) => void): Promise<void> {
  const workspace = storedText("workspace");
  const query = workspace ? `?workspace=${encodeURIComponent(workspace)}` : "";
  const response = await fetch(`/api/v1/samples${query}`, { method: "POST", signal });
  setReachable(true);
  if (response.status === 401) {
    window.dispatchEvent(new Event(signedOutEvent));
  }
  if (!response.ok || !response.body) {
    throw await readError(response);
  }
  for await (const event of readEvents(response.body)) {
    if (event.event === "error") {
      throw new Error((JSON.parse(event.data) as { error: string }).error);
    }
    const progress = JSON.parse(event.data) as SampleRun;
    onProgress(progress);
    if (event.event === "done") {
      return;
    }
  }
  throw new Error("the connection broke before the end");
}
