import { queryOptions } from "@tanstack/react-query";

import { api, must } from "../../api/client";

/** The results of learning from outcomes. */
export const learningQuery = queryOptions({
  queryKey: ["learning"],
  queryFn: () => must(api.GET("/routing/learning")),
});

/** Excludes the existing outcomes from learning. */
export function resetLearning() {
  return must(api.POST("/routing/learning/reset", { body: {} }));
}

/** Switches learning on or off. */
export function enableLearning(enabled: boolean) {
  return must(api.PUT("/routing/learning", { body: { enabled } }));
}
