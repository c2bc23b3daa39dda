/** Time zone of the dashboard: "utc", "local" for the browser's, or an IANA name. */
export type Zone = string;

const cache = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let found = cache.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: nameOf(zone) });
    cache.set(key, found);
  }
  return found;
}

/** The zone name for Intl. Returns undefined, which selects the browser's zone, for an unknown name. */
function nameOf(zone: Zone): string | undefined {
  if (zone === "utc" || zone === "local") {
    return zone === "utc" ? "UTC" : undefined;
  }
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

const clock: Intl.DateTimeFormatOptions = {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
};
const day: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };

/** Formats a time for a table row: the time, and the day unless it is today. */
export function rowTime(iso: string, zone: Zone, now = Date.now()): { clock: string; day?: string } {
  const date = new Date(iso);
  const time = formatter(zone, clock).format(date);
  return sameDay(date, new Date(now), zone)
    ? { clock: time }
    : { clock: time, day: formatter(zone, day).format(date) };
}

/** Formats a time for a table row on one line. */
export function formatRowTime(iso: string, zone: Zone, now = Date.now()): string {
  const time = rowTime(iso, zone, now);
  return time.day ? `${time.day} ${time.clock}` : time.clock;
}

/** Formats a time for a narrow column: without seconds unless it is today. */
export function formatBriefTime(iso: string, zone: Zone, now = Date.now()): string {
  const time = rowTime(iso, zone, now);
  return time.day ? `${time.day} ${time.clock.slice(0, 5)}` : time.clock;
}

/** Formats a date and time: 3 Nov 2026, 14:05:09. */
export function formatMoment(iso: string, zone: Zone): string {
  return (
    formatter(zone, { ...day, year: "numeric", ...clock }).format(new Date(iso)) +
    (zone === "utc" ? " UTC" : "")
  );
}

/** Formats a date: 3 Nov 2026. */
export function formatDay(iso: string, zone: Zone): string {
  return formatter(zone, { ...day, year: "numeric" }).format(new Date(iso));
}

/** The name of a zone for the API; undefined for UTC. */
export function zoneName(zone: Zone): string | undefined {
  const name = nameOf(zone) ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return name === "UTC" ? undefined : name;
}

const dayMs = 86_400_000;

/** Formats the label of a chart bucket, as precise as the bucket is wide. */
export function formatBucket(iso: string, stepMs: number, zone: Zone): string {
  const date = new Date(iso);
  if (stepMs >= dayMs) {
    // Use noon: in zones that are not whole hours from UTC, a bucket may begin shortly before midnight.
    return formatter(zone, day).format(date.getTime() + dayMs / 2);
  }
  const short = formatter(zone, { hour: "2-digit", minute: "2-digit", hour12: false }).format(date);
  return stepMs >= 3_600_000 ? `${formatter(zone, day).format(date)} ${short}` : short;
}

/** Explains where the days of a chart begin, if not at midnight in the page's zone; otherwise undefined. */
export function dayNote(
  days: { zone: string; shift_ms: number } | undefined,
  requested: string | undefined,
): string | undefined {
  if (!days) {
    return undefined;
  }
  if (days.zone === "UTC" && requested) {
    return "Days are in UTC: hourly figures for this period are no longer stored.";
  }
  if (days.shift_ms !== 0) {
    const minutes = Math.abs(days.shift_ms) / 60_000;
    return `Days begin ${minutes} minutes ${days.shift_ms < 0 ? "before" : "after"} midnight in ${days.zone}, because figures are stored by UTC hour.`;
  }
  return undefined;
}

/** Formats a time for a datetime-local input: 2026-11-03T14:05, in the zone. */
export function fieldText(ms: number, zone: Zone): string {
  const parts = formatter(zone, {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatToParts(ms);
  const part = (type: string) => parts.find((p) => p.type === type)?.value ?? "";
  return `${part("year")}-${part("month")}-${part("day")}T${part("hour")}:${part("minute")}`;
}

/** Parses the value of a datetime-local input as a time in the zone; undefined when it is incomplete. */
export function fieldMoment(text: string, zone: Zone): number | undefined {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) {
    return undefined;
  }
  // The zone's offset is looked up at the guess and again at the result, because daylight saving may change between them.
  let ms = asUtc;
  for (let i = 0; i < 2; i++) {
    ms -= Date.parse(`${fieldText(ms, zone)}Z`) - asUtc;
  }
  return ms;
}

function sameDay(a: Date, b: Date, zone: Zone): boolean {
  const whole = formatter(zone, { ...day, year: "numeric" });
  return whole.format(a) === whole.format(b);
}

const spans: [number, string][] = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1000, "second"],
];

/** Formats the distance from now: "4 seconds ago", "in 2 days". */
export function formatAge(iso: string, now = Date.now()): string {
  const ms = now - Date.parse(iso);
  // A time set to seven days from now must not read "in 6 days" a moment later.
  const length = Math.abs(ms) + (ms < -1_800_000 ? 30_000 : 0);
  for (const [span, name] of spans) {
    const n = Math.floor(length / span);
    if (n >= 1) {
      const text = `${n} ${name}${n === 1 ? "" : "s"}`;
      return ms >= 0 ? `${text} ago` : `in ${text}`;
    }
  }
  return "just now";
}
