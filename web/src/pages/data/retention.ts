const dayMs = 86_400_000;

/** Days of a retention in milliseconds; empty for the gateway's own. */
export function daysOf(ms: number | null | undefined): number | "" {
  return ms == null ? "" : Math.round((ms / dayMs) * 100) / 100;
}

/** Milliseconds of a number of days; null takes the gateway's own. */
export function msOf(days: number | ""): number | null {
  return days === "" ? null : Math.round(days * dayMs);
}

/** Writes how long something is kept: "90 days", "for ever". */
export function keptFor(ms: number | null | undefined): string {
  if (ms == null) {
    return "for ever";
  }
  const days = daysOf(ms);
  return days === 1 ? "1 day" : `${days} days`;
}

/** Reports whether a change keeps less than before; null stands for the gateway's own. */
export function isShorter(before: number | null, after: number | null, own: number | null): boolean {
  const length = (ms: number | null) => ms ?? own ?? Infinity;
  return length(after) < length(before);
}

/** Spans of time that deleting can be limited to. */
export const spans: { value: string; label: string; from?: string; to?: string }[] = [
  { value: "all", label: "All times" },
  { value: "older-7d", label: "Older than 7 days", to: "now-7d" },
  { value: "older-30d", label: "Older than 30 days", to: "now-30d" },
  { value: "older-90d", label: "Older than 90 days", to: "now-90d" },
  { value: "last-1h", label: "The last hour", from: "now-1h" },
  { value: "last-24h", label: "The last 24 hours", from: "now-24h" },
  { value: "last-7d", label: "The last 7 days", from: "now-7d" },
  { value: "last-30d", label: "The last 30 days", from: "now-30d" },
];

/** What is to be deleted: filters and a span, as parameters of the API. Nothing at all means everything. */
export function selection(span: string, filters: Record<string, string | undefined>): Record<string, string> {
  const { from, to } = spans.find((s) => s.value === span) ?? {};
  return Object.fromEntries(
    Object.entries({ ...filters, from, to }).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
}
