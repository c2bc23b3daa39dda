// A time range is two plain parameters, from and to. Relative ranges stay relative: a link to the last 24 hours always
// shows the last 24 hours.

/** A time range as in the URL. */
export interface Range {
  from: string;
  to?: string;
}

/** The preset ranges. */
export const ranges: { from: string; label: string }[] = [
  { from: "now-15m", label: "Last 15 minutes" },
  { from: "now-1h", label: "Last hour" },
  { from: "now-24h", label: "Last 24 hours" },
  { from: "now-7d", label: "Last 7 days" },
  { from: "now-30d", label: "Last 30 days" },
];

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** Parses "now", "now-24h" or an RFC 3339 time into milliseconds; undefined for anything else. */
export function parseMoment(text: string, now: number): number | undefined {
  if (text === "now") {
    return now;
  }
  const relative = /^now-(\d+)([smhdw])$/.exec(text);
  if (relative) {
    return now - Number(relative[1]) * (units[relative[2] ?? ""] ?? 0);
  }
  const at = Date.parse(text);
  return Number.isNaN(at) || !/^\d{4}-\d{2}-\d{2}T/.test(text) ? undefined : at;
}

/** The default start of the range. public/start.js has the same value. */
export const defaultFrom = "now-24h";

/** Extracts the range from query parameters. Invalid ends get their defaults. */
export function rangeOf(search: Record<string, string | undefined>): Range {
  const from = valid(search["from"]) ?? defaultFrom;
  const to = valid(search["to"]);
  return to === undefined ? { from } : { from, to };
}

/** Lists the invalid ends in query parameters. */
export function invalidEnds(search: Record<string, string | undefined>): string[] {
  return [search["from"], search["to"]].filter(
    (text): text is string => Boolean(text) && valid(text) === undefined,
  );
}

function valid(text: string | undefined): string | undefined {
  return text && parseMoment(text, 0) !== undefined ? text : undefined;
}

/** Reports whether the range moves with the current time. */
export function isRelative(range: Range): boolean {
  return range.from.startsWith("now") && (!range.to || range.to.startsWith("now"));
}

/** Converts a range to fixed ends. */
export function pin(range: Range, now: number): Range {
  const { from, to } = bounds(range, now);
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** The ends of a range in milliseconds, in order. For an invalid range, these are the ends of the last 24 hours. */
export function bounds(range: Range, now: number): { from: number; to: number } {
  const to = parseMoment(range.to ?? "now", now) ?? now;
  const from = parseMoment(range.from, now) ?? now - (units["d"] ?? 0);
  return from <= to ? { from, to } : { from: to, to: from };
}

/** The next longer preset range, offered when a range is empty; undefined when there is none. */
export function wider(range: Range): Range | undefined {
  const now = Date.now();
  const span = now - bounds(range, now).from;
  const next = ranges.find((r) => now - bounds(r, now).from > span);
  return next && { from: next.from };
}
