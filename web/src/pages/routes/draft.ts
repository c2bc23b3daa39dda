import { queryOptions } from "@tanstack/react-query";

import { api, must, type Schema } from "../../api/client";

export type Route = Schema["RouteView"];
export type RouteList = Schema["RouteList"];

/** The maximum number of models of a pool. */
export const maxPool = 8;

/** The routes of the workspace with their pools. */
export const routesQuery = queryOptions({
  queryKey: ["routes"],
  queryFn: () => must(api.GET("/routes")),
});

/** The settings of a route while they are edited. */
export interface RouteDraft {
  name: string;
  /** Empty for the default pool. */
  pool: string[];
  tradeoff: number;
  min: string | null;
  max: string | null;
  shares: { model: string; percent: number | "" }[];
}

/** The draft of a new route, or of a change of one. */
export function routeDraft(route?: Route): RouteDraft {
  return {
    name: route?.name ?? "",
    pool: route?.pinned ? route.pool.map((entry) => entry.model) : [],
    tradeoff: route?.tradeoff ?? 0.5,
    min: route?.min_effort || null,
    max: route?.max_effort || null,
    shares: route?.shares.map((share) => ({ ...share })) ?? [],
  };
}

/** Pins the current pool of a route. */
export function pinned(route: Route): RouteDraft {
  return { ...routeDraft(route), pool: route.pool.slice(0, maxPool).map((entry) => entry.model) };
}

/** The body of a request; undefined while the draft is incomplete. */
export function routeBody(draft: RouteDraft): Schema["RouteSettings"] | undefined {
  const shares = draft.shares.filter((share) => share.model !== "" || share.percent !== "");
  if (!draft.name.trim() || shares.some((share) => share.model === "" || share.percent === "")) {
    return undefined;
  }
  return {
    pool: draft.pool,
    tradeoff: draft.tradeoff,
    min_effort: draft.min ?? "",
    max_effort: draft.max ?? "",
    shares: shares.map(({ model, percent }) => ({ model, percent: Number(percent) })),
  };
}

/** Models that a pool can have: those of all pools and those that are left out. */
export function poolChoices(list: RouteList): string[] {
  const names = list.routes.flatMap((route) => route.pool.map((entry) => entry.model));
  return [...new Set([...names, ...list.left.map((one) => one.model)])].sort();
}

/** Describes a share: "5 % of sessions go to gpt-6-luna". */
export function shareText(share: Schema["RouteShare"]): string {
  return `${share.percent} % of sessions go to ${share.model}`;
}

/** Describes a place on the dial. */
export function dialText(tradeoff: number): string {
  if (tradeoff === 0.5) {
    return "Balanced";
  }
  if (tradeoff < 0.5) {
    return tradeoff === 0 ? "Cheapest" : `Cheaper than balanced (${tradeoff.toFixed(2)})`;
  }
  return tradeoff === 1 ? "Best" : `Better than balanced (${tradeoff.toFixed(2)})`;
}

/** Describes the range of reasoning efforts; empty without limits. */
export function effortText({ min_effort: min, max_effort: max }: Route): string {
  if (min && max) {
    return `Reasoning effort from ${min} to ${max}`;
  }
  return min ? `Reasoning effort ${min} or higher` : max ? `Reasoning effort up to ${max}` : "";
}
