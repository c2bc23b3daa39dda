import type { Schema } from "../../api/client";
import { unknown } from "../../lib/money";
import { formatBytes, plural } from "../../lib/numbers";
import { formatDay, type Zone } from "../../lib/time";

const dayMs = 86_400_000;

/** Says where the growth of the last days leads, in a few words and in a sentence. Nothing is guessed. */
export function forecastText(
  f: Schema["StorageForecast"],
  store: string,
  zone: Zone,
  now: number,
): { value: string; text: string } {
  if (f.outlook === "unknown" || f.growth_bytes_per_day === null || f.measured_ms === null) {
    return { value: unknown, text: "Not known yet: growth has to be measured for a day first." };
  }
  const length = Math.max(1, Math.round(f.measured_ms / dayMs));
  const measured = length === 1 ? "over the last day" : `over the last ${length} days`;
  if (f.outlook === "steady") {
    return { value: "not growing", text: `The database did not grow ${measured}.` };
  }
  const grew = `It grew by ${formatBytes(f.growth_bytes_per_day)} a day ${measured}`;
  switch (f.outlook) {
    case "fills":
      return {
        value: `full in ${days(f.full_at, now)}`,
        text: `${grew}: at that rate the disk is full on ${day(f.full_at, zone)}. ${balance(f, zone)}`,
      };
    case "balances":
      return {
        value: `balanced in ${days(f.balanced_at, now)}`,
        text: `${grew}. From ${day(f.balanced_at, zone)} on as much is deleted by age as comes in, at about ${formatBytes(f.balanced_bytes)}, if traffic stays as it is.`,
      };
    default:
      return {
        value: `+${formatBytes(f.growth_bytes_per_day)} a day`,
        text:
          store === "sqlite"
            ? `Measured ${measured}. At that rate the disk lasts for more than ten years.`
            : `Measured ${measured}. How much room the database server has is not known here.`,
      };
  }
}

function balance(f: Schema["StorageForecast"], zone: Zone): string {
  return f.balanced_at
    ? `Retention would balance it only on ${day(f.balanced_at, zone)}: keep less, or make room.`
    : "Keep less, or make room.";
}

function days(at: string | null, now: number): string {
  return at === null ? unknown : plural(Math.max(0, Math.floor((Date.parse(at) - now) / dayMs)), "day");
}

function day(at: string | null, zone: Zone): string {
  return at === null ? unknown : formatDay(at, zone);
}
