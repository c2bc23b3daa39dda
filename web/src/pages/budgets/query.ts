import { queryOptions } from "@tanstack/react-query";

import { api, must, type Schema } from "../../api/client";

export type Budget = Schema["Budget"];
export type BudgetDetail = Schema["BudgetDetail"];

/** The budgets of the workspace with their use and forecast. */
export const budgetsQuery = queryOptions({
  queryKey: ["budgets"],
  queryFn: () => must(api.GET("/budgets")),
  refetchInterval: 30_000,
});

/** One budget with its curve, spenders and rejected requests. */
export function budgetQuery(id: string) {
  return queryOptions({
    queryKey: ["budgets", id],
    queryFn: () => must(api.GET("/budgets/{id}", { params: { path: { id } } })),
    refetchInterval: 30_000,
  });
}
