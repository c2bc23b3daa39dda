import { useCallback, useEffect, useRef, useState } from "react";

import type { Prompt, Turn } from "./draft";
import { newRun, type Run } from "./run";
import { sendChat } from "./send";
import { settle } from "./settle";

/** The requests for a prompt. */
export interface Sending {
  /** One request body per column. */
  bodies: Record<string, object>;
  /** Number of responses per column. */
  repeats: number;
  /** Responses that are known already, by column. */
  known?: Record<string, Run>;
}

/** The conversation of the playground and its actions. */
export interface Chat {
  turns: Turn[];
  /** Sends a prompt to all columns at the same time. The repeats of a column are sent one after the other. */
  send: (prompt: Prompt, sending: Sending) => void;
  /** Stops every run, keeps the received text, and sends no further repeats. */
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

  const send = useCallback((prompt: Prompt, { bodies, repeats, known = {} }: Sending) => {
    const id = next.current++;
    const columns = Object.keys(bodies);
    const change = (update: (turn: Turn) => Turn) =>
      setTurns((before) => before.map((turn) => (turn.id === id ? update(turn) : turn)));
    setTurns((before) => [
      ...before,
      {
        id,
        prompt,
        runs: { ...known, ...Object.fromEntries(columns.map((column) => [column, newRun()])) },
        more: {},
        repeats,
        running: true,
      },
    ]);
    const controller = new AbortController();
    running.current.add(controller);
    const repeat = async (column: string) => {
      for (let i = 0; i < repeats && !controller.signal.aborted; i++) {
        const show = (run: Run) => change((turn) => withRun(turn, column, i, run));
        const run = await sendChat(bodies[column] ?? {}, controller.signal, show);
        void settle(run).then(show);
      }
    };
    void Promise.all(columns.map(repeat)).finally(() => {
      running.current.delete(controller);
      change((turn) => ({ ...turn, running: false }));
    });
  }, []);

  const clear = useCallback(() => {
    stop();
    setTurns([]);
  }, [stop]);
  return { turns, send, stop, clear };
}

/** Sets the response with an index in a column. */
function withRun(turn: Turn, column: string, index: number, run: Run): Turn {
  if (index === 0) {
    return { ...turn, runs: { ...turn.runs, [column]: run } };
  }
  const more = [...(turn.more[column] ?? [])];
  more[index - 1] = run;
  return { ...turn, more: { ...turn.more, [column]: more } };
}
