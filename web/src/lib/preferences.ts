import { useAccountZone } from "./session";
import { useStored } from "./stored";
import type { Zone } from "./time";

/** Setting of the time zone switch: the account's zone, or UTC. */
export type ZoneChoice = "local" | "utc";

/**
 * The time zone of the dashboard and its setter. By default it is the account's zone; for an account without one it is
 * "local", the browser's zone.
 */
export function useZone(): [Zone, (choice: ZoneChoice) => void] {
  const accountZone = useAccountZone();
  const [choice, setChoice] = useStored<ZoneChoice | null>("zone", null);
  return [zoneOf(choice, accountZone), setChoice];
}

/** Resolves a choice for an account. An account without a zone uses the browser's. */
export function zoneOf(choice: ZoneChoice | null, accountZone: string | undefined): Zone {
  if (choice === "utc" || (choice === null && accountZone === "UTC")) {
    return "utc";
  }
  return accountZone && accountZone !== "UTC" ? accountZone : "local";
}

/** Row height of tables. */
export type Density = "compact" | "normal";

/** The table density and its setter. */
export function useDensity(): [Density, (density: Density) => void] {
  return useStored<Density>("density", "normal");
}
