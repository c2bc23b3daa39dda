import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, must } from "../../api/client";
import type { Filters } from "../../lib/filters";
import { defaultFrom, type Range } from "../../lib/range";

/** All data of the overview, in one call. */
export function overviewQuery(
  filters: Filters,
  range: Range,
  simulated: "true" | "false" | undefined,
  source: "key" | "playground" | undefined,
  zone: string | undefined,
) {
  const { model, provider, key, policy } = filters;
  const query = {
    ...range,
    model,
    provider,
    key,
    policy,
    simulated,
    source: source ?? ("all" as const),
    // 24 hours have no daily buckets. public/start.js makes the same call.
    zone: range.from === defaultFrom && range.to === undefined ? undefined : zone,
  };
  return queryOptions({
    queryKey: ["overview", query],
    queryFn: () => must(api.GET("/overview", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}
