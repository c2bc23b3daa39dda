import { useQuery } from "@tanstack/react-query";

import { facetsQuery } from "../../api/queries";
import type { Filters } from "../../lib/filters";
import type { Range } from "../../lib/range";
import { facetsOf, type Simulated, simulatedFilter } from "./figures";
import { overviewQuery } from "./query";

const liveMs = 5000;

interface Asked {
  filters: Filters;
  range: Range;
  simulated: Simulated;
  source: "key" | "playground" | undefined;
  /** Only the simulator serves. */
  onlySimulator: boolean;
  live: boolean;
}

/**
 * useOverview loads the figures. When nothing but simulated requests came and nobody chose to leave them out, they are
 * shown: an empty page would be of no use.
 */
export function useOverview({ filters, range, simulated, source, onlySimulator, live }: Asked) {
  const refetchInterval = live ? liveMs : false;
  const filter = simulatedFilter(simulated, onlySimulator);
  const first = useQuery({ ...overviewQuery(filters, range, filter, source), refetchInterval });
  const nothingReal = first.data?.current.requests === 0 && filter === "false" && !first.isPlaceholderData;
  const all = useQuery({
    ...overviewQuery(filters, range, undefined, source),
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
