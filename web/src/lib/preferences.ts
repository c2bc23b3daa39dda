import { useAccountZone } from "./session";
import { useStored } from "./stored";
import type { Zone } from "./time";

/** What the switch for times says: the account's own zone, or UTC. */
export type ZoneChoice = "local" | "utc";

/**
 * The zone that times are shown in, and how to change it. Until somebody switches it is the account's; where the
 * account has none of its own, "local" is this browser's.
 */
export function useZone(): [Zone, (choice: ZoneChoice) => void] {
  const own = useAccountZone();
  const [choice, setChoice] = useStored<ZoneChoice | null>("zone", null);
  return [zoneOf(choice, own), setChoice];
}

/** The zone that a choice means for an account; an account of which no zone is known is that of this browser. */
export function zoneOf(choice: ZoneChoice | null, own: string | undefined): Zone {
  if (choice === "utc" || (choice === null && own === "UTC")) {
    return "utc";
  }
  return own && own !== "UTC" ? own : "local";
}

/** How much room a row of a table takes. */
export type Density = "compact" | "normal";

/** The density of tables, and how to change it. */
export function useDensity(): [Density, (density: Density) => void] {
  return useStored<Density>("density", "normal");
}
