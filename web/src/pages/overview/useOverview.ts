import { useQuery, useQueryClient } from "@tanstack/react-query";

import { countsOnly, useTail } from "../../api/live";
import { facetsQuery } from "../../api/queries";
import type { Filters } from "../../lib/filters";
import type { Range } from "../../lib/range";
import { facetsOf, type Simulated, simulatedFilter } from "./figures";
import { overviewQuery } from "./query";

const slowlyMs = 30_000;

interface Asked {
  filters: Filters;
  range: Range;
  simulated: Simulated;
  source: "key" | "playground" | undefined;
  /** Only the simulator serves. */
  onlySimulator: boolean;
  live: boolean;
  /** Whose days long ranges are summed up in; undefined for UTC. */
  zone: string | undefined;
}

/**
 * useOverview loads the figures. When nothing but simulated requests came and nobody chose to leave them out, they are
 * shown: an empty page would be of no use.
 */
export function useOverview(asked: Asked) {
  const { filters, range, simulated, source, onlySimulator, live, zone } = asked;
  const queryClient = useQueryClient();
  // Tiles follow what is pushed; without requests there is nothing to load, but time moves on and old ones drop out.
  useTail({
    query: countsOnly,
    enabled: live,
    onBatch: () => void queryClient.invalidateQueries({ queryKey: ["overview"] }),
  });
  const refetchInterval = live ? slowlyMs : false;
  const filter = simulatedFilter(simulated, onlySimulator);
  const first = useQuery({ ...overviewQuery(filters, range, filter, source, zone), refetchInterval });
  const nothingReal = first.data?.current.requests === 0 && filter === "false" && !first.isPlaceholderData;
  const all = useQuery({
    ...overviewQuery(filters, range, undefined, source, zone),
    refetchInterval,
    enabled: nothingReal,
  });
  const onlySimulated = nothingReal && (all.data?.current.requests ?? 0) > 0;
  const query = onlySimulated && simulated === undefined ? all : first;
  const filtered = Object.values(filters).some(Boolean);
  // The breakdown knows only what the filters leave over; to choose another value the others are needed too.
  const facets = useQuery({ ...facetsQuery(range), enabled: filtered });
  return {
    query,
    /** The filter that the figures on the page obey. */
    shown: query === all ? undefined : filter,
    onlySimulated,
    waiting: first.isPending || (nothingReal && all.isPending),
    facets: filtered ? facets.data : first.data && facetsOf((query.data ?? first.data).breakdowns),
  };
}
