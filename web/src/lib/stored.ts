import { useCallback, useSyncExternalStore } from "react";

// What a person chose for this browser: the zone, columns, density. Kept in local storage, shared by all tabs; when the
// browser gives us none, in memory for as long as the page lives.

const memory = new Map<string, string>();
const listeners = new Set<() => void>();

function read(key: string): string | null {
  const held = memory.get(key);
  if (held !== undefined) {
    return held;
  }
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
    memory.delete(key);
  } catch {
    memory.set(key, value);
  }
  for (const listener of listeners) {
    listener();
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** Reads a stored text outside of components. */
export function storedText(name: string): string | null {
  return read(`fairlead-${name}`);
}

/** Stores a text outside of components. */
export function storeText(name: string, value: string): void {
  write(`fairlead-${name}`, value);
}

/** useStoredText is storedText for components. */
export function useStoredText(name: string): string | null {
  return useSyncExternalStore(subscribe, () => storedText(name));
}

/** useStored is useState that lasts. The value must be JSON; one that cannot be read is the initial one. */
export function useStored<T>(name: string, initial: T): [T, (value: T) => void] {
  const key = `fairlead-${name}`;
  const text = useSyncExternalStore(subscribe, () => read(key));
  const set = useCallback((value: T) => write(key, JSON.stringify(value)), [key]);
  return [parse(text, initial), set];
}

function parse<T>(text: string | null, initial: T): T {
  if (text === null) {
    return initial;
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    return initial;
  }
}
