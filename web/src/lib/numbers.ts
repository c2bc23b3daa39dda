import { unknown } from "./money";

/** Formats a whole number with thousands separators. */
export function formatCount(n: number | null | undefined): string {
  return n == null ? unknown : Math.round(n).toLocaleString("en-US").replace("-", "−");
}

/** Formats a number with its noun: "1 model", "1,200 models". */
export function plural(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${formatCount(n)} ${noun}s`;
}

/** Formats milliseconds: 412 ms, 1,840 ms, 62.5 s, 3 m 5 s. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms == null) {
    return unknown;
  }
  if (ms < 10_000) {
    return `${formatCount(ms)} ms`;
  }
  if (ms < 60_000) {
    return `${(ms / 1000).toFixed(1)} s`;
  }
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) {
    return `${Math.floor(seconds / 60)} m ${seconds % 60} s`;
  }
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}

/** Formats the latency of a request; less than a millisecond reads "< 1 ms". */
export function formatLatency(ms: number | null | undefined): string {
  return ms === 0 ? "< 1 ms" : formatDuration(ms);
}

/** Formats microseconds: 850 µs, 12.4 ms. */
export function formatMicros(us: number | null | undefined): string {
  if (us == null) {
    return unknown;
  }
  return us < 1000 ? `${formatCount(us)} µs` : `${(us / 1000).toFixed(1)} ms`;
}

/** Formats a percentage: 65.1 %. A non-zero value never reads 0.0 %. */
export function formatPercent(percent: number | null | undefined, digits = 1): string {
  if (percent == null) {
    return unknown;
  }
  const least = 10 ** -digits;
  if (percent !== 0 && Math.abs(percent) < least) {
    return percent < 0 ? `> −${least} %` : `< ${least} %`;
  }
  return `${percent.toFixed(digits).replace("-", "−")} %`;
}

/** Formats a share of the baseline cost that was saved. A comparison of estimates never reads 100 %. */
export function formatSaving(savedPercent: number | null | undefined, digits = 1): string {
  if (savedPercent != null && savedPercent > 99.4) {
    return formatPercent(Math.min(savedPercent, 99.9));
  }
  return formatPercent(savedPercent, digits);
}

/** Formats a saving as the change in cost: −67 % is cheaper, +12 % more expensive. */
export function formatChange(savedPercent: number | null | undefined): string {
  if (savedPercent == null) {
    return unknown;
  }
  const change = Math.round(-savedPercent);
  if (change === 0) {
    return "0 %";
  }
  if (change === -100) {
    return `−${formatSaving(savedPercent)}`;
  }
  return `${change > 0 ? "+" : "−"}${formatCount(Math.abs(change))} %`;
}

/** Formats the size of a context window: 128K, 1M, 8,192. */
export function formatWindow(tokens: number | null | undefined): string {
  if (tokens == null || tokens <= 0) {
    return unknown;
  }
  if (tokens >= 1_000_000) {
    return `${(tokens / 1e6).toFixed(1).replace(/\.0$/, "")}M`;
  }
  return tokens >= 10_000 ? `${Math.round(tokens / 1000)}K` : formatCount(tokens);
}

/** Formats a number of bytes: 812 B, 4.2 KB, 1.3 GB. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes == null) {
    return unknown;
  }
  const units = ["B", "KB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 ? `${formatCount(value)} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** Formats a predicted quality from 0 to 1. A value below 1 never reads 1.00. */
export function formatQuality(quality: number | null | undefined): string {
  if (quality == null) {
    return unknown;
  }
  if (quality < 1 && quality >= 0.995) {
    return "> 0.99";
  }
  return quality > 0 && quality < 0.005 ? "< 0.01" : quality.toFixed(2);
}
