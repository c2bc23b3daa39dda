import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, must, type Schema } from "../../api/client";

export type AlertRule = Schema["AlertRule"];
export type AlertChannel = Schema["AlertChannel"];
export type AlertKind = Schema["AlertKind"];
export type AlertEvent = Schema["AlertEvent"];
export type AlertDelivery = Schema["AlertDelivery"];

/** The rules with their states, the channels, and the kinds of rules. */
export const alertsQuery = queryOptions({
  queryKey: ["alerts", "list"],
  queryFn: () => must(api.GET("/alerts")),
  refetchInterval: 15_000,
});

/** Threshold crossings and tests with their deliveries, newest first. */
export const alertHistoryQuery = infiniteQueryOptions({
  queryKey: ["alerts", "history"],
  queryFn: ({ pageParam }) =>
    must(api.GET("/alerts/history", { params: { query: { limit: 25, before: pageParam || undefined } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.before ?? undefined,
  refetchInterval: 15_000,
});
