import { useStored } from "./stored";
import type { Zone } from "./time";

/** The zone that times are shown in, and how to change it. */
export function useZone(): [Zone, (zone: Zone) => void] {
  return useStored<Zone>("zone", "local");
}

/** How much room a row of a table takes. */
export type Density = "compact" | "normal";

/** The density of tables, and how to change it. */
export function useDensity(): [Density, (density: Density) => void] {
  return useStored<Density>("density", "normal");
}
