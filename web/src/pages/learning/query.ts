import { queryOptions } from "@tanstack/react-query";

import { api, must } from "../../api/client";

/** The results of learning from outcomes. */
export const learningQuery = queryOptions({
  queryKey: ["learning"],
  queryFn: () => must(api.GET("/routing/learning")),
  refetchInterval: 5_000, // a rating counts a few seconds later
});

/** Excludes the existing outcomes of one model, or of all models, from learning. */
export function resetLearning(model?: string) {
  return must(api.POST("/routing/learning/reset", { body: { model } }));
}

/** Switches learning on or off. */
export function enableLearning(enabled: boolean) {
  return must(api.PUT("/routing/learning", { body: { enabled } }));
}
