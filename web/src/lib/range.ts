// A range of time is two plain parameters, from and to. Relative ones stay relative: a link to the last 24 hours shows
// the last 24 hours whenever it is opened.

/** The parameters of a range as they stand in the address. */
export interface Range {
  from: string;
  to?: string;
}

/** The ranges to choose from. */
export const ranges: { from: string; label: string }[] = [
  { from: "now-15m", label: "Last 15 minutes" },
  { from: "now-1h", label: "Last hour" },
  { from: "now-24h", label: "Last 24 hours" },
  { from: "now-7d", label: "Last 7 days" },
  { from: "now-30d", label: "Last 30 days" },
];

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** Reads "now", "now-24h" or an RFC 3339 time as milliseconds; undefined for anything else. */
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

const usual = "now-24h";

/** The range in the parameters of an address; ends that cannot be read are the usual ones. */
export function rangeOf(search: Record<string, string | undefined>): Range {
  const from = readable(search["from"]) ?? usual;
  const to = readable(search["to"]);
  return to === undefined ? { from } : { from, to };
}

/** The ends in the parameters of an address that cannot be read, as they stand there. */
export function unreadableEnds(search: Record<string, string | undefined>): string[] {
  return [search["from"], search["to"]].filter(
    (text): text is string => Boolean(text) && readable(text) === undefined,
  );
}

function readable(text: string | undefined): string | undefined {
  return text && parseMoment(text, 0) !== undefined ? text : undefined;
}

/** Reports whether the range moves with the clock. */
export function isRelative(range: Range): boolean {
  return range.from.startsWith("now") && (!range.to || range.to.startsWith("now"));
}

/** The range with fixed ends, as "Pin" makes it. */
export function pin(range: Range, now: number): Range {
  const { from, to } = bounds(range, now);
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** The ends of a range in milliseconds; a range that cannot be read is the last 24 hours. */
export function bounds(range: Range, now: number): { from: number; to: number } {
  const to = parseMoment(range.to ?? "now", now) ?? now;
  const from = parseMoment(range.from, now) ?? now - (units["d"] ?? 0);
  return from <= to ? { from, to } : { from: to, to: from };
}

/** The range of equal length before, or the nearest longer one: what to offer when a range is empty. */
export function wider(range: Range): Range | undefined {
  const now = Date.now();
  const span = now - bounds(range, now).from;
  const next = ranges.find((r) => now - bounds(r, now).from > span);
  return next && { from: next.from };
}
