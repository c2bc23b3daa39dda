import { queryOptions } from "@tanstack/react-query";

import { zoneName, type Zone } from "../lib/time";
import { api, must } from "./client";

/** All catalog models with price, predicted quality and traffic. */
export const catalogQuery = queryOptions({
  queryKey: ["catalog"],
  queryFn: () => must(api.GET("/catalog")),
  staleTime: 60_000,
});

/** One model with all its details. */
export function modelQuery(name: string) {
  return queryOptions({
    queryKey: ["models", name],
    queryFn: () => must(api.GET("/models/{name}", { params: { path: { name } } })),
    staleTime: 10_000,
  });
}

/** One provider with its backoffs and its status over the last 30 days. */
export function providerQuery(name: string, zone: Zone) {
  return queryOptions({
    queryKey: ["providers", name, zone],
    queryFn: () =>
      must(api.GET("/providers/{name}", { params: { path: { name }, query: { zone: zoneName(zone) } } })),
  });
}
