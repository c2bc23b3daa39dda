import { useCallback, useSyncExternalStore } from "react";

// Preferences of this browser, such as time zone, columns and density. They are kept in local storage, shared by all
// tabs, or in memory when local storage is unavailable.

const memory = new Map<string, string>();
const listeners = new Set<() => void>();

function read(key: string): string | null {
  const value = memory.get(key);
  if (value !== undefined) {
    return value;
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

/** Reads a stored string outside of components. */
export function storedText(name: string): string | null {
  return read(`fairlead-${name}`);
}

/** Stores a string outside of components. */
export function storeText(name: string, value: string): void {
  write(`fairlead-${name}`, value);
}

/** useStoredText is storedText for components. */
export function useStoredText(name: string): string | null {
  return useSyncExternalStore(subscribe, () => storedText(name));
}

/** useStored is a persistent useState for JSON values. An invalid stored value is replaced with the initial one. */
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
