import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { type LiveState, useTail } from "../../api/live";
import type { Filters } from "../../lib/filters";
import type { Range } from "../../lib/range";
import { type Sort, sortedLimit } from "./sort";
import { addBatch, type Live, mergeRows, noUpdates, showWaiting } from "./live";

type Row = Schema["RequestRow"];

/** Parameters of a list query. Presets and sources are enumerations in the API. */
type ListQuery = Filters & Range & { preset?: never; source?: never };

/** The filtered requests, page by page. */
export function useRequestPages(filters: Filters, range: Range, sort: Sort) {
  const query = { ...filters, ...range, sort } as ListQuery & { sort: Sort };
  const limit = sort === "time" ? 50 : sortedLimit;
  return useInfiniteQuery({
    queryKey: ["requests", query],
    queryFn: ({ pageParam }) =>
      must(api.GET("/requests", { params: { query: { ...query, before: pageParam, limit } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.before ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: 15_000,
    refetchOnWindowFocus: false,
  });
}

/** The number of matching requests, loaded separately so that it never delays the list. */
export function useRequestCount(filters: Filters, range: Range) {
  const query = { ...filters, ...range } as ListQuery;
  return useQuery({
    queryKey: ["requests", "count", query],
    queryFn: () => must(api.GET("/requests/count", { params: { query } })),
    enabled: !filters.text, // the search in stored text does not count
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

interface LiveOptions {
  filters: Filters;
  range: Range;
  enabled: boolean;
  /** Whether to hold back new rows. */
  paused: boolean;
  onLost: () => void;
}

interface Updates {
  /** The filters and range of the tail. */
  parameters: string;
  live: Live;
}

/** The updates for these parameters. Updates of a tail with other filters are dropped. */
function currentLive(updates: Updates, parameters: string, paused: boolean): Live {
  const live = updates.parameters === parameters ? updates.live : noUpdates;
  return paused ? live : showWaiting(live);
}

/** The rows of the list, with live updates if enabled. */
export function useLiveRows(listed: Row[], options: LiveOptions) {
  const { filters, range, enabled, paused, onLost } = options;
  const parameters = JSON.stringify([filters, range, enabled]);
  const [updates, setUpdates] = useState<Updates>({ parameters, live: noUpdates });
  const live = currentLive(updates, parameters, paused);
  const known = useMemo(() => new Set(listed.map((row) => row.id)), [listed]);
  const state: LiveState = useTail({
    query: { ...filters, from: range.from },
    enabled,
    onBatch: (batch) => {
      // Several batches may arrive before the next render, so each is added to the previous state.
      setUpdates((before) => ({
        parameters,
        live: addBatch(currentLive(before, parameters, paused), batch.requests, known, paused),
      }));
      if (batch.lost > 0) {
        onLost();
      }
    },
  });
  const flush = () => setUpdates({ parameters, live: showWaiting(live) });
  const rows = mergeRows(live, listed);
  return { rows, waiting: live.waiting.length, flush, state };
}
