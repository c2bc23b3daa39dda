import { useSyncExternalStore } from "react";

// Whether the last call reached the gateway. The strip at the top of the page shows it.

let reachable = true;
const listeners = new Set<() => void>();

/** Tells whether a call came through. */
export function setReachable(value: boolean): void {
  if (value === reachable) {
    return;
  }
  reachable = value;
  for (const listener of listeners) {
    listener();
  }
}

/** Whether the gateway could be reached lately. */
export function useReachable(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => reachable,
  );
}
