import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { type LiveState, useTail } from "../../api/live";
import type { Filters } from "../../lib/filters";
import type { Range } from "../../lib/range";
import { addNews, type Live, mergeRows, noNews, settle } from "./live";

type Row = Schema["RequestRow"];

/** A list query's parameters; presets and sources of the API are fixed lists. */
type ListQuery = Filters & Range & { preset?: never; source?: never };

/** The list of requests for filters and a range, page by page. */
export function useRequestPages(filters: Filters, range: Range) {
  const query = { ...filters, ...range } as ListQuery;
  return useInfiniteQuery({
    queryKey: ["requests", query],
    queryFn: ({ pageParam }) =>
      must(api.GET("/requests", { params: { query: { ...query, before: pageParam, limit: 50 } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.before ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: 15_000,
    refetchOnWindowFocus: false,
  });
}

/** How many requests match, counted apart so that it never holds the list up. */
export function useRequestCount(filters: Filters, range: Range) {
  const query = { ...filters, ...range } as ListQuery;
  return useQuery({
    queryKey: ["requests", "count", query],
    queryFn: () => must(api.GET("/requests/count", { params: { query } })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

interface LiveOptions {
  filters: Filters;
  range: Range;
  enabled: boolean;
  /** New rows wait while the person reads. */
  paused: boolean;
  onLost: () => void;
}

interface News {
  /** The filters and the range of the tail. */
  parameters: string;
  live: Live;
}

/** What is new for these parameters: what a tail with other filters brought is not shown. */
function current(news: News, parameters: string, paused: boolean): Live {
  const kept = news.parameters === parameters ? news.live : noNews;
  return paused ? kept : settle(kept);
}

/** The rows with what is new on top while the list is live. */
export function useLiveRows(listed: Row[], options: LiveOptions) {
  const { filters, range, enabled, paused, onLost } = options;
  const parameters = JSON.stringify([filters, range, enabled]);
  const [news, setNews] = useState<News>({ parameters, live: noNews });
  const live = current(news, parameters, paused);
  const known = useMemo(() => new Set(listed.map((row) => row.id)), [listed]);
  const state: LiveState = useTail({
    query: { ...filters, from: range.from },
    enabled,
    onBatch: (batch) => {
      // Several batches may come before the page is painted, so each adds to the one before and not to what is shown.
      setNews((before) => ({
        parameters,
        live: addNews(current(before, parameters, paused), batch.requests, known, paused),
      }));
      if (batch.lost > 0) {
        onLost();
      }
    },
  });
  const flush = () => setNews({ parameters, live: settle(live) });
  const rows = mergeRows(live, listed);
  return { rows, waiting: live.waiting.length, flush, state };
}
