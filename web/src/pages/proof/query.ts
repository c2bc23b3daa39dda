import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, must } from "../../api/client";
import type { Range } from "../../lib/range";
import { stringifySearch } from "../../lib/search";
import { storedText } from "../../lib/stored";

/** Savings and measured quality of a period, in one call. */
export function proofQuery(range: Range, simulated: "false" | undefined) {
  const query = { ...range, simulated };
  return queryOptions({
    queryKey: ["proof", query],
    queryFn: () => must(api.GET("/proof", { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

/** The URL of the statement of a month. */
export function statementUrl(month: string, format: "html" | "json", simulated: boolean): string {
  return `/api/v1/statement${stringifySearch({ month, format, simulated: simulated ? "true" : undefined, workspace: storedText("workspace") })}`;
}
