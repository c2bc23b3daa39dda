import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api, must } from "../../api/client";

/** Reloads all data that depends on the providers. */
export function useReloadProviders() {
  const queryClient = useQueryClient();
  return () =>
    Promise.all(
      ["providers", "vendors", "models", "new-models", "overview", "session", "settings", "routes"].map(
        (key) => queryClient.invalidateQueries({ queryKey: [key] }),
      ),
    );
}

/** The actions on a provider. All data that shows its state is reloaded afterwards. */
export function useProviderActions(name: string) {
  const onSettled = useReloadProviders();
  const path = { name };
  return {
    test: useMutation({
      mutationFn: () => must(api.POST("/providers/{name}/test", { params: { path } })),
      onSettled,
    }),
    reset: useMutation({
      mutationFn: () => must(api.POST("/providers/{name}/reset", { params: { path } })),
      onSettled,
    }),
    enable: useMutation({
      mutationFn: (enabled: boolean) =>
        must(api.PATCH("/providers/{name}", { params: { path }, body: { enabled } })),
      onSettled,
    }),
    add: useMutation({
      mutationFn: (secret: string) =>
        must(api.POST("/providers/{name}/credentials", { params: { path }, body: { secret } })),
      onSettled,
    }),
    rotate: useMutation({
      mutationFn: ({ id, secret }: { id: string; secret: string }) =>
        must(
          api.POST("/providers/{name}/credentials/{id}/rotate", {
            params: { path: { name, id } },
            body: { secret },
          }),
        ),
      onSettled,
    }),
    change: useMutation({
      mutationFn: (body: { base_url?: string; key?: string }) =>
        must(api.PATCH("/providers/{name}", { params: { path }, body })),
      onSettled,
    }),
    disconnect: useMutation({
      mutationFn: () => must(api.DELETE("/providers/{name}", { params: { path } })),
      onSettled,
    }),
    remove: useMutation({
      mutationFn: (id: string) =>
        must(api.DELETE("/providers/{name}/credentials/{id}", { params: { path: { name, id } } })),
      onSettled,
    }),
  };
}

/** The actions of one provider. */
export type ProviderActions = ReturnType<typeof useProviderActions>;
