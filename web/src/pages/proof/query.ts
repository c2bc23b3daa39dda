import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, must } from "../../api/client";
import type { Range } from "../../lib/range";
import { stringifySearch } from "../../lib/search";
import { storedText } from "../../lib/stored";

/** Savings and measured quality of a period, in one call. A baseline makes the gateway read the log, which takes seconds. */
export function proofQuery(range: Range, simulated: "false" | undefined, baseline: string | undefined) {
  const query = { ...range, simulated, baseline };
  return queryOptions({
    queryKey: ["proof", query],
    queryFn: () => must(api.GET("/proof", { params: { query } })),
    placeholderData: keepPreviousData,
    staleTime: baseline ? 300_000 : undefined,
  });
}

/** The URL of a monthly statement. */
export function statementUrl(month: string, format: "html" | "csv", simulated: boolean): string {
  return `/api/v1/statement${stringifySearch({ month, format, simulated: simulated ? "true" : undefined, workspace: storedText("workspace") })}`;
}
