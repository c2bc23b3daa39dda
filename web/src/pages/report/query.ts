import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, must } from "../../api/client";
import type { parametersOf } from "./report";
import { seriesGroups } from "./series";

/** The report for the parameters of a selection. */
export function reportQuery(query: ReturnType<typeof parametersOf>) {
  return queryOptions({
    queryKey: ["report", query],
    queryFn: () => must(api.GET("/report", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

/** The figures over time for the parameters of a selection, with days in a time zone. */
export function reportSeriesQuery(query: ReturnType<typeof parametersOf>, zone?: string) {
  const parameters = { ...query, then: undefined, limit: seriesGroups, zone };
  return queryOptions({
    queryKey: ["report", "series", parameters],
    queryFn: () => must(api.GET("/report/series", { params: { query: parameters } })),
    placeholderData: keepPreviousData,
  });
}
