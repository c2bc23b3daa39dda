import { queryOptions } from "@tanstack/react-query";

import { api, must, type Schema } from "./client";

/** A saved view of the request list or the report. */
export type SavedView = Schema["SavedView"];

/** The saved views of the request list. */
export const viewsQuery = queryOptions({
  queryKey: ["views"],
  queryFn: () => must(api.GET("/views")),
  staleTime: 60_000,
});

/** The saved views of the report. */
export const reportViewsQuery = queryOptions({
  queryKey: ["views", "report"],
  queryFn: () => must(api.GET("/views", { params: { query: { page: "report" } } })),
  staleTime: 60_000,
});

/** Creates a view, or replaces the view with the id. */
export function saveView(body: Schema["ViewSettings"], id?: string): Promise<SavedView> {
  return id
    ? must(api.PUT("/views/{id}", { params: { path: { id } }, body }))
    : must(api.POST("/views", { body }));
}

/** Deletes a view. */
export function deleteView(id: string) {
  return api.DELETE("/views/{id}", { params: { path: { id } } });
}
