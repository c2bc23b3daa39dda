import { useSyncExternalStore } from "react";

// Whether the last call reached the gateway. A banner at the top of the page shows it.

let reachable = true;
const listeners = new Set<() => void>();

/** Records whether a call reached the gateway. */
export function setReachable(value: boolean): void {
  if (value === reachable) {
    return;
  }
  reachable = value;
  for (const listener of listeners) {
    listener();
  }
}

/** Whether the last call reached the gateway. */
export function useReachable(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => reachable,
  );
}
