import { fieldText, formatBucket, type Zone } from "../../lib/time";

/** A labelled position on the time axis. */
export interface Tick {
  /** Index of the bucket. */
  index: number;
  label: string;
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** Distances between ticks that readers expect: round minutes, hours and days. */
const intervals = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minuteMs),
  ...[1, 2, 3, 6, 12].map((n) => n * hourMs),
  ...[1, 2, 7, 14, 28, 56, 112].map((n) => n * dayMs),
];

/**
 * Chooses at most `most` ticks at round times in the zone: full hours or midnights. Charts of the same series get the
 * same ticks. A bucket that contains midnight shows the day; other ticks below a day show the time.
 */
export function timeTicks(series: { start: string }[], stepMs: number, zone: Zone, most: number): Tick[] {
  const local = series.map((bin) => localTime(bin.start, stepMs, zone));
  for (const interval of intervals) {
    if (interval < stepMs) {
      continue;
    }
    const found = ticksAt(local, interval);
    if (found.length <= most) {
      return found.map((index) => ({ index, label: label(series, local, index, interval, zone) }));
    }
  }
  return [];
}

/** Buckets in which a multiple of the interval begins. */
function ticksAt(local: number[], interval: number): number[] {
  return local.flatMap((at, i) => {
    const before = local[i - 1];
    const begins =
      before === undefined
        ? at % interval === 0
        : Math.floor(at / interval) !== Math.floor(before / interval);
    return begins ? [i] : [];
  });
}

/** The wall-clock time of a bucket. Days may begin shortly before or after midnight, so they are rounded. */
function localTime(iso: string, stepMs: number, zone: Zone): number {
  const at = Date.parse(`${fieldText(Date.parse(iso), zone)}Z`);
  return stepMs >= dayMs ? Math.round(at / dayMs) * dayMs : at;
}

function label(
  series: { start: string }[],
  local: number[],
  index: number,
  interval: number,
  zone: Zone,
): string {
  const start = series[index]?.start ?? "";
  const [at = 0, before] = [local[index], local[index - 1]];
  const newDay =
    before === undefined ? at % dayMs === 0 : Math.floor(at / dayMs) !== Math.floor(before / dayMs);
  if (interval >= dayMs) {
    return formatBucket(start, dayMs, zone);
  }
  // formatBucket adds half a day to the start of a day, which is correct for midnight only.
  return newDay ? formatBucket(start, dayMs, zone) : formatBucket(start, minuteMs, zone);
}

/** Chooses about four round values from 0, or from at most `low` if it is negative, to at least `top`. */
export function valueTicks(top: number, whole = false, low = 0): number[] {
  if (low < 0) {
    const step = valueTicks(Math.max(top, -low), whole)[1] ?? 1;
    const first = Math.floor(low / step + 1e-9);
    const count = Math.ceil(top / step - 1e-9) - first;
    return Array.from({ length: count + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  }
  if (!(top > 0)) {
    return [0, 1];
  }
  const rough = top / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  let step = ([1, 2, 2.5, 5, 10].find((n) => n * size >= rough * 0.999) ?? 10) * size;
  if (whole) {
    step = Math.max(1, Math.ceil(step));
  }
  const count = Math.ceil(top / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}
