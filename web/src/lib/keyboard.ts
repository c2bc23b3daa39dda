import { useEffect, useRef } from "react";

/** A keyboard shortcut: a key such as "j", "?" or "mod+k", or a sequence such as "g r". */
export interface Shortcut {
  keys: string;
  label: string;
  run: (event: KeyboardEvent) => void;
  /** Whether the shortcut is also active while typing; only for "mod+k". */
  always?: boolean;
}

const typing = "input, textarea, select, [contenteditable=true], [role=textbox], [role=combobox]";
const sequenceMs = 1200;

// The shortcuts of all mounted components, for the list that "?" shows.
const active = new Set<Shortcut[]>();

/** Lists the active shortcuts, each key once. */
export function activeShortcuts(): Shortcut[] {
  const byKeys = new Map<string, Shortcut>();
  for (const list of active) {
    for (const shortcut of list) {
      byKeys.set(shortcut.keys, shortcut);
    }
  }
  return [...byKeys.values()];
}

/** useShortcuts handles shortcuts while the component is mounted, except while the user types. */
export function useShortcuts(shortcuts: Shortcut[]): void {
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  useEffect(() => {
    active.add(shortcuts);
    return () => {
      active.delete(shortcuts);
    };
  });
  useEffect(() => {
    let prefix = "";
    let since = 0;
    const listen = (event: KeyboardEvent) => {
      const key = nameOf(event);
      const typed = event.timeStamp - since < sequenceMs && prefix ? `${prefix} ${key}` : key;
      const found =
        latest.current.find((s) => s.keys === typed) ?? latest.current.find((s) => s.keys === key);
      prefix = key;
      since = event.timeStamp;
      if (!found || event.defaultPrevented || (!found.always && isTyping(event))) {
        return;
      }
      prefix = "";
      event.preventDefault();
      found.run(event);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}

function isTyping(event: KeyboardEvent): boolean {
  return event.target instanceof Element && event.target.closest(typing) !== null;
}

function nameOf(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey ? "mod+" : "";
  return mod + (event.altKey ? "alt+" : "") + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
}
