import { useEffect, useRef } from "react";

/** One shortcut: a key such as "j", "?" or "mod+k", or two keys in turn such as "g r". */
export interface Shortcut {
  keys: string;
  label: string;
  run: (event: KeyboardEvent) => void;
  /** Also while the person types; for "mod+k" only. */
  always?: boolean;
}

const typing = "input, textarea, select, [contenteditable=true], [role=textbox], [role=combobox]";
const sequenceMs = 1200;

// Every shortcut on the page at the moment, for the list that "?" shows.
const active = new Set<Shortcut[]>();

/** Lists the shortcuts of the page, each key once. */
export function activeShortcuts(): Shortcut[] {
  const byKeys = new Map<string, Shortcut>();
  for (const list of active) {
    for (const shortcut of list) {
      byKeys.set(shortcut.keys, shortcut);
    }
  }
  return [...byKeys.values()];
}

/** useShortcuts listens for keys while the component is on the page. They are off while somebody types. */
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
