import { keepPreviousData, QueryClient, queryOptions } from "@tanstack/react-query";

import type { Filters } from "../lib/filters";
import type { Range } from "../lib/range";
import { api, must } from "./client";
import { ApiError } from "./errors";

/** Creates the cache of server state. Only retryable errors are retried. */
export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        refetchOnWindowFocus: true,
        retry: (failures, error) => failures < 2 && error instanceof ApiError && error.retryable,
      },
    },
  });
}

/** The signed-in account, its workspaces, and facts about the gateway. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => must(api.GET("/session")),
  staleTime: 60_000,
});

/** The requirements of registration: a setup code, an invitation, a password length. */
export const registrationQuery = queryOptions({
  queryKey: ["registration"],
  queryFn: () => must(api.GET("/registration")),
});

/** The API keys of the workspace. */
export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () => must(api.GET("/keys")),
});

/** The models with their targets, prices and health. */
export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: () => must(api.GET("/models")),
  staleTime: 60_000,
});

/** How prices are kept current, and the price changes that wait for a decision. */
export const priceRefreshQuery = queryOptions({
  queryKey: ["price-refresh"],
  queryFn: () => must(api.GET("/prices/refresh")),
  staleTime: 60_000,
});

/** The models that are only in a provider's model list. */
export const newModelsQuery = queryOptions({
  queryKey: ["new-models"],
  queryFn: () => must(api.GET("/new-models")),
  staleTime: 60_000,
});

/** The providers with their credentials and health. */
export const providersQuery = queryOptions({
  queryKey: ["providers"],
  queryFn: () => must(api.GET("/providers")),
});

/** The vendors that can be connected. */
export const vendorsQuery = queryOptions({
  queryKey: ["vendors"],
  queryFn: () => must(api.GET("/providers/vendors")),
  staleTime: 60_000,
});

/** Conditions of the whole gateway that need action. */
export const attentionQuery = queryOptions({
  queryKey: ["attention"],
  queryFn: () => must(api.GET("/attention")),
  refetchInterval: 15_000,
});

const recentMs = 60_000;

/** Reports whether a request started within the last minute. IDs begin with the time. */
export function isRecent(id: string, now = Date.now()): boolean {
  const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const time = [...id.replace(/^req_/, "").slice(0, 10)].reduce((ms, c) => ms * 32 + digits.indexOf(c), 0);
  return Math.abs(now - time) < recentMs;
}

/** One request with its trace, attempts and bills. */
export function requestQuery(id: string) {
  return queryOptions({
    queryKey: ["request", id],
    queryFn: () => must(api.GET("/requests/{id}", { params: { path: { id } } })),
    staleTime: 30_000,
    // A live list shows a request shortly before the log has it.
    retry: (failures, error) =>
      failures < 8 &&
      error instanceof ApiError &&
      (error.retryable || (error.status === 404 && isRecent(id))),
    retryDelay: (failures) => 150 * 2 ** Math.min(failures, 3),
  });
}

/** The stored request and response bodies of one request. */
export function requestBodyQuery(id: string) {
  return queryOptions({
    queryKey: ["request", id, "body"],
    queryFn: () => must(api.GET("/requests/{id}/body", { params: { path: { id } } })),
    staleTime: 300_000,
  });
}

/** The volume of requests over time. */
export function histogramQuery(filters: Filters, range: Range, zone?: string) {
  const query = { ...filters, ...range, zone } as Filters & Range & { preset?: never; source?: never };
  return queryOptions({
    queryKey: ["histogram", query],
    queryFn: () => must(api.GET("/requests/histogram", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

/** The values offered by the filters. */
export function facetsQuery(range: Range) {
  return queryOptions({
    queryKey: ["facets", range],
    queryFn: () => must(api.GET("/requests/facets", { params: { query: { ...range } } })),
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
}
