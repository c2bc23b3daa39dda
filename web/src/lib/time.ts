/** Which zone every table, chart and export shows. */
export type Zone = "local" | "utc";

const cache = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let found = cache.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone === "utc" ? "UTC" : undefined });
    cache.set(key, found);
  }
  return found;
}

const clock: Intl.DateTimeFormatOptions = {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
};
const day: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };

/** Writes a time for a row of a list: the clock for today, with the day for older ones. */
export function formatRowTime(iso: string, zone: Zone, now = Date.now()): string {
  const date = new Date(iso);
  const time = formatter(zone, clock).format(date);
  if (sameDay(date, new Date(now), zone)) {
    return time;
  }
  return `${formatter(zone, day).format(date)} ${time}`;
}

/** Writes a moment on its own: 3 Nov 2026, 14:05:09. */
export function formatMoment(iso: string, zone: Zone): string {
  return (
    formatter(zone, { ...day, year: "numeric", ...clock }).format(new Date(iso)) +
    (zone === "utc" ? " UTC" : "")
  );
}

/** Writes a day: 3 Nov 2026. */
export function formatDay(iso: string, zone: Zone): string {
  return formatter(zone, { ...day, year: "numeric" }).format(new Date(iso));
}

/** Writes the label of a bucket of a chart, as precise as its width asks for. */
export function formatBucket(iso: string, stepMs: number, zone: Zone): string {
  const date = new Date(iso);
  if (stepMs >= 86_400_000) {
    return formatter(zone, day).format(date);
  }
  const short = formatter(zone, { hour: "2-digit", minute: "2-digit", hour12: false }).format(date);
  return stepMs >= 3_600_000 ? `${formatter(zone, day).format(date)} ${short}` : short;
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

/** Writes how long ago something was, or how long until it is: "4 seconds ago", "in 2 days". */
export function formatAge(iso: string, now = Date.now()): string {
  const ms = now - Date.parse(iso);
  // What was set to seven days a moment ago must not read "in 6 days".
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
