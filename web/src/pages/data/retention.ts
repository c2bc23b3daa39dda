const dayMs = 86_400_000;

/** Converts a retention to days; empty for the gateway's default. */
export function daysOf(ms: number | null | undefined): number | "" {
  return ms == null ? "" : Math.round((ms / dayMs) * 100) / 100;
}

/** Converts days to milliseconds; null for the gateway's default. */
export function msOf(days: number | ""): number | null {
  return days === "" ? null : Math.round(days * dayMs);
}

/** Formats a retention: "90 days", "forever". */
export function keptFor(ms: number | null | undefined): string {
  if (ms == null) {
    return "forever";
  }
  const days = daysOf(ms);
  return days === 1 ? "1 day" : `${days} days`;
}

/** Reports whether a change shortens the retention; null stands for the inherited default. */
export function isShorter(before: number | null, after: number | null, inherited: number | null): boolean {
  const length = (ms: number | null) => ms ?? inherited ?? Infinity;
  return length(after) < length(before);
}

/** Time ranges for deletion. */
export const spans: { value: string; label: string; from?: string; to?: string }[] = [
  { value: "all", label: "All time" },
  { value: "older-7d", label: "Older than 7 days", to: "now-7d" },
  { value: "older-30d", label: "Older than 30 days", to: "now-30d" },
  { value: "older-90d", label: "Older than 90 days", to: "now-90d" },
  { value: "last-1h", label: "Last hour", from: "now-1h" },
  { value: "last-24h", label: "Last 24 hours", from: "now-24h" },
  { value: "last-7d", label: "Last 7 days", from: "now-7d" },
  { value: "last-30d", label: "Last 30 days", from: "now-30d" },
];

/** The API parameters of a deletion: filters and time range. No parameters select every request. */
export function selection(span: string, filters: Record<string, string | undefined>): Record<string, string> {
  const { from, to } = spans.find((s) => s.value === span) ?? {};
  return Object.fromEntries(
    Object.entries({ ...filters, from, to }).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
}
