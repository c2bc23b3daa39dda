import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api, must } from "../../api/client";

/** The actions on a provider. All data that shows its state is reloaded afterwards. */
export function useProviderActions(name: string) {
  const queryClient = useQueryClient();
  const onSettled = () =>
    Promise.all(
      ["providers", "models", "overview", "session"].map((key) =>
        queryClient.invalidateQueries({ queryKey: [key] }),
      ),
    );
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
    remove: useMutation({
      mutationFn: (id: string) =>
        must(api.DELETE("/providers/{name}/credentials/{id}", { params: { path: { name, id } } })),
      onSettled,
    }),
  };
}

/** The actions of one provider. */
export type ProviderActions = ReturnType<typeof useProviderActions>;
