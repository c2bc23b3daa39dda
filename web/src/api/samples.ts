import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { notifyDone, notifyFailed } from "../lib/notify";
import { plural } from "../lib/numbers";
import { setReachable } from "../lib/reachable";
import { readEvents } from "../lib/sse";
import { storedText } from "../lib/stored";
import { signedOutEvent, type Schema } from "./client";
import { asApiError, readError } from "./errors";

// One streaming call creates sample traffic. It continues across navigation; closing the tab or pressing Stop ends it.

/** Progress of a sample run. */
export type SampleRun = Schema["SampleProgress"];

let run: SampleRun | undefined;
let controller: AbortController | undefined;
const listeners = new Set<() => void>();

function set(next: SampleRun | undefined): void {
  run = next;
  for (const listener of listeners) {
    listener();
  }
}

/** The current run; undefined when there is none. */
export function useSampleRun(): SampleRun | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => run,
  );
}

/** Stops the current run. Requests already created stay. */
export function stopSamples(): void {
  controller?.abort();
}

const reloadMs = 2000;

/** Creates sample traffic. Refreshes the pages' data while it runs and shows a notification at the end. */
export async function createSamples(queryClient: QueryClient): Promise<void> {
  if (run) {
    return;
  }
  const current = new AbortController();
  controller = current;
  set({ done: 0, total: 0 });
  const reload = () =>
    void queryClient.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "session" });
  let reloaded = Date.now();
  let created = 0;
  try {
    await streamProgress(current.signal, (progress) => {
      created = progress.done;
      set(progress);
      if (Date.now() - reloaded > reloadMs) {
        reloaded = Date.now();
        reload();
      }
    });
    notifyDone(`Created ${plural(created, "sample request")}.`);
  } catch (error) {
    if (current.signal.aborted) {
      notifyDone(`Stopped after ${plural(created, "sample request")}.`);
    } else {
      notifyFailed(`Could not create sample traffic: ${asApiError(error).message}`);
    }
  } finally {
    controller = undefined;
    set(undefined);
    reload();
  }
}

async function streamProgress(signal: AbortSignal, onProgress: (progress: SampleRun) => void): Promise<void> {
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
  throw new Error("The connection was lost.");
}
