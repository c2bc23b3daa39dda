import type { Schema } from "../../api/client";

type Row = Schema["RequestRow"];

/** The updates of a tail since the list was loaded. */
export interface Live {
  /** Rows above the list, newest first. */
  shown: Row[];
  /** Rows held back while paused, newest first. */
  waiting: Row[];
  /** Newer states of rows in the list. */
  changed: Map<string, Row>;
}

/** Maximum number of rows, so that a page that is open for hours does not grow. */
export const maxRows = 500;

/** No updates. */
export const noUpdates: Live = { shown: [], waiting: [], changed: new Map() };

/** Adds a batch of a tail. A known row is updated in place; a new one is added on top, or waits while paused. */
export function addBatch(live: Live, batch: Row[], listed: ReadonlySet<string>, paused: boolean): Live {
  const next: Live = { shown: [...live.shown], waiting: [...live.waiting], changed: new Map(live.changed) };
  for (const row of batch) {
    if (replace(next.shown, row) || replace(next.waiting, row)) {
      continue;
    }
    if (listed.has(row.id)) {
      next.changed.set(row.id, row);
    } else {
      (paused ? next.waiting : next.shown).unshift(row);
    }
  }
  next.shown.length = Math.min(next.shown.length, maxRows);
  next.waiting.length = Math.min(next.waiting.length, maxRows);
  return next;
}

function replace(rows: Row[], row: Row): boolean {
  const at = rows.findIndex((r) => r.id === row.id);
  if (at >= 0) {
    rows[at] = row;
  }
  return at >= 0;
}

/** Shows the rows that were held back. */
export function showWaiting(live: Live): Live {
  if (live.waiting.length === 0) {
    return live;
  }
  return { ...live, shown: [...live.waiting, ...live.shown].slice(0, maxRows), waiting: [] };
}

/** Merges the list and the updates, without duplicates, newest first. */
export function mergeRows(live: Live, listed: Row[]): Row[] {
  if (live.shown.length === 0 && live.changed.size === 0) {
    return listed; // keeps the order of the server, which may differ
  }
  const ids = new Set(listed.map((row) => row.id));
  const newer = live.shown.filter((row) => !ids.has(row.id));
  const latest = new Map([...live.shown.map((row) => [row.id, row] as const), ...live.changed]);
  const updated = listed.map((row) => (row.state === "running" ? (latest.get(row.id) ?? row) : row));
  // A tail sends requests when they start and when they end; ids are ordered by start time.
  const rows = [...newer, ...updated].sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0));
  return rows.slice(0, Math.max(maxRows, listed.length)); // keeps the pages that the user loaded
}
