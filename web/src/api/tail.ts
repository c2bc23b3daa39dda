import { useEffect, useRef, useState } from "react";

import { storedText } from "../lib/stored";
import type { Schema } from "./client";

/** How a tail stands. */
export type TailState = "off" | "connecting" | "live" | "paused";

interface Options {
  /** Filters and range as parameters. */
  query: Record<string, string | undefined>;
  enabled: boolean;
  onBatch: (batch: Schema["TailBatch"]) => void;
}

/**
 * useTail watches requests as they begin and end. The connection is closed while the tab is hidden and goes on from the
 * last request afterwards.
 */
export function useTail({ query, enabled, onBatch }: Options): TailState {
  const [state, setState] = useState<TailState>("off");
  const handle = useRef(onBatch);
  useEffect(() => {
    handle.current = onBatch;
  });
  const parameters = JSON.stringify(query);
  useEffect(() => {
    if (!enabled) {
      return undefined;
    }
    let source: EventSource | undefined;
    let last = "";
    const open = () => {
      setState("connecting");
      source = new EventSource(address(JSON.parse(parameters) as Options["query"], last));
      source.onopen = () => setState("live");
      source.onerror = () => setState("connecting");
      source.addEventListener("requests", (event: MessageEvent<string>) => {
        last = event.lastEventId || last;
        handle.current(JSON.parse(event.data) as Schema["TailBatch"]);
      });
    };
    const close = () => {
      source?.close();
      source = undefined;
    };
    const follow = () => {
      close();
      if (document.hidden) {
        setState("paused");
      } else {
        open();
      }
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      close();
      setState("off");
    };
  }, [enabled, parameters]);
  return state;
}

function address(query: Options["query"], after: string): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, after, workspace: storedText("workspace") ?? "" })) {
    if (value) {
      params.set(name, value);
    }
  }
  return `/api/v1/requests/tail?${params}`;
}
