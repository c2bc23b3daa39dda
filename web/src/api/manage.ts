import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, must, type Schema } from "./client";

/** The gateway's settings: configuration, retention, limits, storage. */
export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: () => must(api.GET("/settings")),
});

/** The workspace with its settings. */
export const workspaceQuery = queryOptions({
  queryKey: ["workspace"],
  queryFn: () => must(api.GET("/workspace")),
});

/** The members of the workspace. */
export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: () => must(api.GET("/workspace/members")),
});

/** The open invitations. */
export const invitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: () => must(api.GET("/workspace/invitations")),
});

/** The sessions of the account, one per signed-in browser. */
export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: () => must(api.GET("/account/sessions")),
});

/** The two-factor authentication state of the account. */
export const secondFactorQuery = queryOptions({
  queryKey: ["second-factor"],
  queryFn: () => must(api.GET("/account/second-factor")),
});

/** The passkeys of the account. */
export const passkeysQuery = queryOptions({
  queryKey: ["passkeys"],
  queryFn: () => must(api.GET("/account/passkeys")),
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
 * saveWorkspace changes settings, reads them back and returns them. It throws if a saved value differs
 * from the requested one.
 */
export async function saveWorkspace(change: WorkspaceChange): Promise<Schema["WorkspaceView"]> {
  await must(api.PATCH("/workspace", { body: change }));
  const saved = await must(api.GET("/workspace"));
  const different = differing(change, saved);
  if (different.length > 0) {
    throw new Error(
      `Saved, but these settings now have different values: ${different.join(", ")}. Another user may have changed them at the same time.`,
    );
  }
  return saved;
}

/** Names the requested settings whose saved value differs. */
export function differing<T extends object>(requested: T, saved: object): string[] {
  return Object.entries(requested)
    .filter(
      ([name, value]) =>
        value !== undefined &&
        JSON.stringify((saved as Record<string, unknown>)[name] ?? null) !== JSON.stringify(value),
    )
    .map(([name]) => name);
}
