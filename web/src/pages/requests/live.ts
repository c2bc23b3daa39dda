import type { Schema } from "../../api/client";

type Row = Schema["RequestRow"];

/** What a tail brought since the list was loaded. */
export interface Live {
  /** Rows above the list, newest first. */
  shown: Row[];
  /** Rows that wait until the person has finished reading, newest first. */
  waiting: Row[];
  /** Newer states of rows that are in the list already. */
  changed: Map<string, Row>;
}

/** The most rows that are kept: a page that is open for hours must not grow. */
export const keptRows = 500;

/** Nothing new. */
export const noNews: Live = { shown: [], waiting: [], changed: new Map() };

/** Takes in a batch of a tail. A row that is there already settles in place; a new one goes on top, or waits. */
export function addNews(live: Live, batch: Row[], listed: ReadonlySet<string>, paused: boolean): Live {
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
  next.shown.length = Math.min(next.shown.length, keptRows);
  next.waiting.length = Math.min(next.waiting.length, keptRows);
  return next;
}

function replace(rows: Row[], row: Row): boolean {
  const at = rows.findIndex((r) => r.id === row.id);
  if (at >= 0) {
    rows[at] = row;
  }
  return at >= 0;
}

/** Shows what waited. */
export function settle(live: Live): Live {
  if (live.waiting.length === 0) {
    return live;
  }
  return { ...live, shown: [...live.waiting, ...live.shown].slice(0, keptRows), waiting: [] };
}

/** The rows to show: the list with what is new, each request once, newest first. */
export function mergeRows(live: Live, listed: Row[]): Row[] {
  if (live.shown.length === 0 && live.changed.size === 0) {
    return listed; // in the order of the server, which may be another one
  }
  const ids = new Set(listed.map((row) => row.id));
  const newer = live.shown.filter((row) => !ids.has(row.id));
  const latest = new Map([...live.shown.map((row) => [row.id, row] as const), ...live.changed]);
  const settled = listed.map((row) => (row.state === "running" ? (latest.get(row.id) ?? row) : row));
  // A tail tells of requests as they begin and end; ids are ordered by time.
  const rows = [...newer, ...settled].sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0));
  return rows.slice(0, Math.max(keptRows, listed.length)); // what the person loaded by hand stays
}
