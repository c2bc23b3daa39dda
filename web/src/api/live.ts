import { useEffect, useRef, useSyncExternalStore } from "react";

import { storedText } from "../lib/stored";
import type { Schema } from "./client";

// Each tab has one push connection. Pages choose which requests to watch; while no page does, the connection only counts
// requests. It is closed while the tab is hidden.

/** State of the connection. */
export type LiveState = "off" | "connecting" | "live" | "paused" | "reconnecting";

/** Filters and time range as query parameters. */
export type LiveQuery = Record<string, string | undefined>;

type Batch = Schema["TailBatch"];

interface Listener {
  /** The parameters as JSON, for comparison. */
  parameters: string;
  onBatch: (batch: Batch) => void;
}

const firstRetryMs = 2000;
const maxRetryMs = 30_000;

/** Counts finished requests without sending rows; used while no page listens. */
export const countsOnly: LiveQuery = { rows: "none" };

/** LiveConnection keeps at most one event stream open, with the parameters of the latest listener. */
export class LiveConnection {
  private state: LiveState = "off";
  private holders = 0;
  private paused = false;
  private listeners: Listener[] = [];
  private source: EventSource | undefined;
  private openParameters = "";
  private lastEventId = "";
  private retryMs = firstRetryMs;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private pending: ReturnType<typeof setTimeout> | undefined;
  private readonly watchers = new Set<() => void>();

  /** Keeps the connection open until the returned function is called. */
  hold(): () => void {
    this.holders++;
    if (this.holders === 1) {
      document.addEventListener("visibilitychange", this.update);
    }
    this.scheduleUpdate();
    return () => {
      this.holders--;
      if (this.holders === 0) {
        document.removeEventListener("visibilitychange", this.update);
      }
      this.lastEventId = "";
      this.disconnect(); // the next page may be in another workspace
      this.scheduleUpdate();
    };
  }

  /** Calls onBatch for every batch that matches the parameters, until the returned function is called. */
  listen(query: LiveQuery, onBatch: (batch: Batch) => void): () => void {
    const listener: Listener = { parameters: JSON.stringify(query), onBatch };
    this.listeners.push(listener);
    this.scheduleUpdate();
    return () => {
      this.listeners = this.listeners.filter((other) => other !== listener);
      this.scheduleUpdate();
    };
  }

  /** Closes the connection, or opens it again. */
  pause(stopped: boolean): void {
    this.paused = stopped;
    this.update();
  }

  get current(): LiveState {
    return this.state;
  }

  /** Calls watcher on every change of state. */
  subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  /** Defers the update, because on navigation one listener leaves just before the next one is added. */
  private scheduleUpdate(): void {
    clearTimeout(this.pending);
    this.pending = setTimeout(this.update, 0);
  }

  private readonly update = (): void => {
    if (this.holders === 0) {
      this.disconnect();
      this.set("off");
    } else if (this.paused || document.hidden) {
      this.disconnect();
      this.set("paused");
    } else {
      this.connect(this.listeners.at(-1)?.parameters ?? JSON.stringify(countsOnly));
    }
  };

  private connect(parameters: string): void {
    if (this.source && this.openParameters === parameters) {
      return;
    }
    this.disconnect();
    if (this.openParameters !== parameters) {
      this.lastEventId = "";
    }
    this.openParameters = parameters;
    this.set(this.state === "reconnecting" ? "reconnecting" : "connecting");
    const source = new EventSource(address(JSON.parse(parameters) as LiveQuery, this.lastEventId));
    this.source = source;
    source.onopen = () => {
      this.retryMs = firstRetryMs;
      this.set("live");
    };
    source.onerror = () => this.onError(source);
    source.addEventListener("requests", (event: MessageEvent<string>) => {
      this.lastEventId = event.lastEventId || this.lastEventId;
      const batch = JSON.parse(event.data) as Batch;
      for (const listener of this.listeners.filter((l) => l.parameters === parameters)) {
        listener.onBatch(batch);
      }
    });
  }

  /** Handles an error. Browsers reconnect after a lost connection, but not after a response that is not a stream. */
  private onError(source: EventSource): void {
    if (source !== this.source) {
      return;
    }
    this.set("reconnecting");
    if (source.readyState === EventSource.CLOSED) {
      this.source = undefined;
      this.retry = setTimeout(this.update, this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, maxRetryMs);
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

/** Keeps the tab's connection open while the component is mounted. A new key opens a new connection. */
export function useLiveConnection(key: string): void {
  useEffect(() => connection.hold(), [key]);
}

/** The state of the tab's connection. */
export function useLiveState(): LiveState {
  return useSyncExternalStore(connection.subscribe, () => connection.current);
}

/** Pauses or resumes the tab's connection. */
export function pauseLive(stopped: boolean): void {
  connection.pause(stopped);
}

interface TailOptions {
  query: LiveQuery;
  enabled: boolean;
  onBatch: (batch: Batch) => void;
}

/**
 * useTail receives the start and the end of requests on the tab's connection. The most recently mounted caller decides
 * which requests are watched. After the tab was hidden, it resumes from the last request.
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
