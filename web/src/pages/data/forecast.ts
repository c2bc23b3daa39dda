import type { Schema } from "../../api/client";
import { unknown } from "../../lib/money";
import { formatBytes, plural } from "../../lib/numbers";
import { formatDay, type Zone } from "../../lib/time";

const dayMs = 86_400_000;

/** Describes the storage forecast in a few words and in a sentence. */
export function forecastText(
  f: Schema["StorageForecast"],
  store: string,
  zone: Zone,
  now: number,
): { value: string; text: string } {
  if (f.outlook === "unknown" || f.growth_bytes_per_day === null || f.measured_ms === null) {
    return { value: unknown, text: "Not available yet. The forecast needs at least one day of data." };
  }
  const length = Math.max(1, Math.round(f.measured_ms / dayMs));
  const measured = length === 1 ? "over the last day" : `over the last ${length} days`;
  if (f.outlook === "steady") {
    return { value: "Not growing", text: `The database did not grow ${measured}.` };
  }
  const grew = `The database grew by ${formatBytes(f.growth_bytes_per_day)} per day ${measured}.`;
  switch (f.outlook) {
    case "fills":
      return {
        value: `Full in ${days(f.full_at, now)}`,
        text: `${grew} At this rate, the disk will be full on ${day(f.full_at, zone)}${balance(f, zone)}. Shorten retention or add disk space.`,
      };
    case "balances":
      return {
        value: `Stable in ${days(f.balanced_at, now)}`,
        text: `${grew} At this rate it stops growing on ${day(f.balanced_at, zone)} at about ${formatBytes(f.balanced_bytes)}, when retention deletes as much data as is added.`,
      };
    default:
      return {
        value: `+${formatBytes(f.growth_bytes_per_day)} per day`,
        text:
          store === "sqlite"
            ? `Measured ${measured}. At this rate the disk lasts more than ten years.`
            : `Measured ${measured}. The free space of the database server is unknown.`,
      };
  }
}

function balance(f: Schema["StorageForecast"], zone: Zone): string {
  return f.balanced_at ? `, before retention stops the growth on ${day(f.balanced_at, zone)}` : "";
}

function days(at: string | null, now: number): string {
  return at === null ? unknown : plural(Math.max(0, Math.floor((Date.parse(at) - now) / dayMs)), "day");
}

function day(at: string | null, zone: Zone): string {
  return at === null ? unknown : formatDay(at, zone);
}
