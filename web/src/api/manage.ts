import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, must, type Schema } from "./client";

/** The facts of this gateway: configuration, retention, limits, storage. */
export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: () => must(api.GET("/settings")),
});

/** The workspace with its settings. */
export const workspaceQuery = queryOptions({
  queryKey: ["workspace"],
  queryFn: () => must(api.GET("/workspace")),
});

/** The people of the workspace. */
export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: () => must(api.GET("/workspace/members")),
});

/** The open invitations. */
export const invitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: () => must(api.GET("/workspace/invitations")),
});

/** The browsers that are signed in to the account. */
export const browsersQuery = queryOptions({
  queryKey: ["browsers"],
  queryFn: () => must(api.GET("/account/sessions")),
});

/** The audit log, newest first, a page at a time. */
export const auditQuery = infiniteQueryOptions({
  queryKey: ["audit"],
  queryFn: ({ pageParam }) =>
    must(api.GET("/audit", { params: { query: { before: pageParam, limit: 50 } } })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => page.before ?? undefined,
});

/** A change of the workspace's settings. */
export type WorkspaceChange = Schema["UpdateWorkspaceInputBody"];

/**
 * saveWorkspace changes settings and reads them back: what it returns is what the gateway now holds. It throws when
 * that is not what was asked for.
 */
export async function saveWorkspace(change: WorkspaceChange): Promise<Schema["WorkspaceView"]> {
  await must(api.PATCH("/workspace", { body: change }));
  const held = await must(api.GET("/workspace"));
  const lost = differing(change, held);
  if (lost.length > 0) {
    throw new Error(
      `Saved, but read back differently: ${lost.join(", ")}. Somebody else may have changed it at the same time.`,
    );
  }
  return held;
}

/** The names of what was asked for and is not held. */
export function differing<T extends object>(asked: T, held: object): string[] {
  return Object.entries(asked)
    .filter(
      ([name, value]) =>
        value !== undefined &&
        JSON.stringify((held as Record<string, unknown>)[name] ?? null) !== JSON.stringify(value),
    )
    .map(([name]) => name);
}
