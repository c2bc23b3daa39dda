import { useEffect, useRef, useSyncExternalStore } from "react";

import { storedText } from "../lib/stored";
import type { Schema } from "./client";

// The one push connection of this tab. Pages say what they want to watch; while none does, the connection only counts
// requests. It is closed while the tab is hidden.

/** How the connection stands. */
export type LiveState = "off" | "connecting" | "live" | "paused" | "reconnecting";

/** Filters and range as parameters. */
export type LiveQuery = Record<string, string | undefined>;

type Batch = Schema["TailBatch"];

interface Listener {
  /** The parameters as text: what they are compared by. */
  parameters: string;
  onBatch: (batch: Batch) => void;
}

const firstRetryMs = 2000;
const longestRetryMs = 30_000;

/** What is watched while no page watches anything: how many requests end. */
export const countsOnly: LiveQuery = { rows: "none" };

/** LiveConnection keeps at most one event stream open: the one that the latest listener asks for. */
export class LiveConnection {
  private state: LiveState = "off";
  private held = 0;
  private stopped = false;
  private listeners: Listener[] = [];
  private source: EventSource | undefined;
  private open = "";
  private last = "";
  private retryMs = firstRetryMs;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private pending: ReturnType<typeof setTimeout> | undefined;
  private readonly watchers = new Set<() => void>();

  /** Keeps the connection until the returned function is called. */
  hold(): () => void {
    this.held++;
    if (this.held === 1) {
      document.addEventListener("visibilitychange", this.follow);
    }
    this.later();
    return () => {
      this.held--;
      if (this.held === 0) {
        document.removeEventListener("visibilitychange", this.follow);
      }
      this.last = "";
      this.disconnect(); // whoever holds it next may be in another workspace
      this.later();
    };
  }

  /** Passes batches for these parameters on, until the returned function is called. */
  listen(query: LiveQuery, onBatch: (batch: Batch) => void): () => void {
    const listener: Listener = { parameters: JSON.stringify(query), onBatch };
    this.listeners.push(listener);
    this.later();
    return () => {
      this.listeners = this.listeners.filter((other) => other !== listener);
      this.later();
    };
  }

  /** Closes the connection at the person's wish, or opens it again. */
  pause(stopped: boolean): void {
    this.stopped = stopped;
    this.follow();
  }

  get current(): LiveState {
    return this.state;
  }

  /** Tells of every change of the state. */
  subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  /** Waits for the end of a change of pages: one listener goes and the next one comes. */
  private later(): void {
    clearTimeout(this.pending);
    this.pending = setTimeout(this.follow, 0);
  }

  private readonly follow = (): void => {
    if (this.held === 0) {
      this.disconnect();
      this.set("off");
    } else if (this.stopped || document.hidden) {
      this.disconnect();
      this.set("paused");
    } else {
      this.connect(this.listeners.at(-1)?.parameters ?? JSON.stringify(countsOnly));
    }
  };

  private connect(parameters: string): void {
    if (this.source && this.open === parameters) {
      return;
    }
    this.disconnect();
    if (this.open !== parameters) {
      this.last = "";
    }
    this.open = parameters;
    this.set(this.state === "reconnecting" ? "reconnecting" : "connecting");
    const source = new EventSource(address(JSON.parse(parameters) as LiveQuery, this.last));
    this.source = source;
    source.onopen = () => {
      this.retryMs = firstRetryMs;
      this.set("live");
    };
    source.onerror = () => this.failed(source);
    source.addEventListener("requests", (event: MessageEvent<string>) => {
      this.last = event.lastEventId || this.last;
      const batch = JSON.parse(event.data) as Batch;
      for (const listener of this.listeners.filter((l) => l.parameters === parameters)) {
        listener.onBatch(batch);
      }
    });
  }

  /** Browsers try again by themselves after a broken line, but not after an answer that is no stream. */
  private failed(source: EventSource): void {
    if (source !== this.source) {
      return;
    }
    this.set("reconnecting");
    if (source.readyState === EventSource.CLOSED) {
      this.source = undefined;
      this.retry = setTimeout(this.follow, this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, longestRetryMs);
    }
  }

  private disconnect(): void {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = undefined;
  }

  private set(state: LiveState): void {
    if (state === this.state) {
      return;
    }
    this.state = state;
    for (const watcher of this.watchers) {
      watcher();
    }
  }
}

function address(query: LiveQuery, after: string): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, after, workspace: storedText("workspace") ?? "" })) {
    if (value) {
      params.set(name, value);
    }
  }
  return `/api/v1/requests/tail?${params}`;
}

const connection = new LiveConnection();

/** Keeps the tab's connection while the component is on the page. Another key makes another connection. */
export function useLiveConnection(key: string): void {
  useEffect(() => connection.hold(), [key]);
}

/** How the tab's connection stands. */
export function useLiveState(): LiveState {
  return useSyncExternalStore(connection.subscribe, () => connection.current);
}

/** Closes the tab's connection at the person's wish, or opens it again. */
export function pauseLive(stopped: boolean): void {
  connection.pause(stopped);
}

interface TailOptions {
  query: LiveQuery;
  enabled: boolean;
  onBatch: (batch: Batch) => void;
}

/**
 * useTail watches requests as they begin and end, on the tab's one connection: the latest on the page decides what is
 * watched. It goes on from the last request after the tab was hidden.
 */
export function useTail({ query, enabled, onBatch }: TailOptions): LiveState {
  const state = useLiveState();
  const handle = useRef(onBatch);
  useEffect(() => {
    handle.current = onBatch;
  });
  const parameters = JSON.stringify(query);
  useEffect(
    () =>
      enabled
        ? connection.listen(JSON.parse(parameters) as LiveQuery, (batch) => handle.current(batch))
        : undefined,
    [enabled, parameters],
  );
  return enabled ? state : "off";
}
