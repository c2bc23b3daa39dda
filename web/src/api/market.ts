import { queryOptions } from "@tanstack/react-query";

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

/** One provider with its backoffs. */
export function providerQuery(name: string) {
  return queryOptions({
    queryKey: ["providers", name],
    queryFn: () => must(api.GET("/providers/{name}", { params: { path: { name } } })),
  });
}
