import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, must } from "../../api/client";
import type { parametersOf } from "./report";

/** The report for the parameters of a selection. */
export function reportQuery(query: ReturnType<typeof parametersOf>) {
  return queryOptions({
    queryKey: ["report", query],
    queryFn: () => must(api.GET("/report", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}
