import { useQuery, useQueryClient } from "@tanstack/react-query";

import { countsOnly, useTail } from "../../api/live";
import { facetsQuery } from "../../api/queries";
import type { Filters } from "../../lib/filters";
import type { Range } from "../../lib/range";
import { facetsOf, type Simulated, simulatedFilter } from "./figures";
import { overviewQuery } from "./query";

const refreshMs = 30_000;

interface Options {
  filters: Filters;
  range: Range;
  simulated: Simulated;
  source: "key" | "playground" | undefined;
  /** Whether the simulator is the only provider. */
  onlySimulator: boolean;
  live: boolean;
  /** Time zone of daily buckets; undefined for UTC. */
  zone: string | undefined;
}

/**
 * useOverview loads the figures. If there are only simulated requests and the URL does not exclude them, they are shown,
 * because an empty page would not help.
 */
export function useOverview(options: Options) {
  const { filters, range, simulated, source, onlySimulator, live, zone } = options;
  const queryClient = useQueryClient();
  // Pushed requests refresh the tiles. Without new requests, the slow interval removes requests that are older than the
  // time range.
  useTail({
    query: countsOnly,
    enabled: live,
    onBatch: () => void queryClient.invalidateQueries({ queryKey: ["overview"] }),
  });
  const refetchInterval = live ? refreshMs : false;
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
  // The breakdown contains only values that match the filters, but a filter must also offer the other values.
  const facets = useQuery({ ...facetsQuery(range), enabled: filtered });
  return {
    query,
    /** The simulated filter of the shown figures. */
    shown: query === all ? undefined : filter,
    onlySimulated,
    waiting: first.isPending || (nothingReal && all.isPending),
    facets: filtered ? facets.data : first.data && facetsOf((query.data ?? first.data).breakdowns),
  };
}
