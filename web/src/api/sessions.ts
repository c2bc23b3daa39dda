import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import type { Range } from "../lib/range";
import { api, must } from "./client";

/** The filters of the session list. */
export interface SessionFilters {
  key?: string;
  user?: string;
  model?: string;
  /** "1" also lists sessions with a single request. */
  single?: string;
}

/** The sessions of a range, ordered by their latest request, newest first. */
export function sessionsQuery(filters: SessionFilters, range: Range) {
  const { single, ...rest } = filters;
  const query = { ...rest, ...range, min_turns: single === "1" ? 0 : 2 };
  return infiniteQueryOptions({
    queryKey: ["sessions", query],
    queryFn: ({ pageParam }) =>
      must(api.GET("/sessions", { params: { query: { ...query, before: pageParam, limit: 50 } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.before ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: 15_000,
  });
}

/** One session with its sums and budgets. */
export function sessionDetailQuery(id: string) {
  return queryOptions({
    queryKey: ["session-detail", id],
    queryFn: () => must(api.GET("/sessions/{id}", { params: { path: { id } } })),
    staleTime: 10_000,
  });
}

/** The turns of a session, oldest first. */
export function turnsQuery(id: string) {
  return infiniteQueryOptions({
    queryKey: ["session-detail", id, "turns"],
    queryFn: ({ pageParam }) =>
      must(
        api.GET("/sessions/{id}/turns", { params: { path: { id }, query: { after: pageParam, limit: 50 } } }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.after ?? undefined,
    staleTime: 10_000,
  });
}

/** The messages that are new in a turn, and its response. */
export function turnMessagesQuery(id: string, request: string) {
  return queryOptions({
    queryKey: ["session-detail", id, "messages", request],
    queryFn: () =>
      must(api.GET("/sessions/{id}/turns/{request}/messages", { params: { path: { id, request } } })),
    staleTime: 300_000,
  });
}
