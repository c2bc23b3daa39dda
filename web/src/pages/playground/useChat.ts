import { useCallback, useEffect, useRef, useState } from "react";

import type { Turn } from "./draft";
import { newRun, type Run } from "./run";
import { sendChat } from "./send";
import { settle } from "./settle";

/** The conversation of the playground and its actions. */
export interface Chat {
  turns: Turn[];
  /** Sends a prompt, with one request body per column. */
  send: (prompt: string, bodies: Record<string, object>) => void;
  /** Stops every run and keeps the received text. */
  stop: () => void;
  clear: () => void;
}

/** useChat holds a conversation. Unmounting stops all runs. */
export function useChat(): Chat {
  const [turns, setTurns] = useState<Turn[]>([]);
  const running = useRef(new Set<AbortController>());
  const next = useRef(1);

  const stop = useCallback(() => {
    for (const controller of running.current) {
      controller.abort();
    }
  }, []);
  useEffect(() => stop, [stop]);

  const send = useCallback((prompt: string, bodies: Record<string, object>) => {
    const id = next.current++;
    const runs = Object.fromEntries(Object.keys(bodies).map((column) => [column, newRun()]));
    setTurns((before) => [...before, { id, prompt, runs }]);
    for (const [column, body] of Object.entries(bodies)) {
      const controller = new AbortController();
      running.current.add(controller);
      const show = (run: Run) =>
        setTurns((before) =>
          before.map((turn) => (turn.id === id ? { ...turn, runs: { ...turn.runs, [column]: run } } : turn)),
        );
      void sendChat(body, controller.signal, show)
        .finally(() => running.current.delete(controller))
        .then(settle)
        .then(show);
    }
  }, []);

  const clear = useCallback(() => {
    stop();
    setTurns([]);
  }, [stop]);
  return { turns, send, stop, clear };
}
