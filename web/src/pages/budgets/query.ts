import { queryOptions } from "@tanstack/react-query";

import { api, must, type Schema } from "../../api/client";

export type Budget = Schema["Budget"];

/** The budgets of the workspace with their use and forecast. */
export const budgetsQuery = queryOptions({
  queryKey: ["budgets"],
  queryFn: () => must(api.GET("/budgets")),
  refetchInterval: 30_000,
});
