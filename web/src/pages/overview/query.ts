import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, must } from "../../api/client";
import type { Filters } from "../../lib/filters";
import type { Range } from "../../lib/range";

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
    zone,
  };
  return queryOptions({
    queryKey: ["overview", query],
    queryFn: () => must(api.GET("/overview", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}
