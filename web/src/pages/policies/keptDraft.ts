import type { Draft } from "./draft";

// Drafts outlive a session that ends while they are written: whoever signs in again in this tab finds their own. They
// are kept for the tab alone, under the account and the workspace that they belong to.

const prefix = "fairlead-policy-draft-";

/** The name under which a draft is kept. */
export function draftName(accountId: string, workspaceId: string): string {
  return `${prefix}${accountId}-${workspaceId}`;
}

/** Keeps a draft; what the gateway said about it is asked for anew. */
export function keepDraft(name: string, draft: Draft): void {
  try {
    sessionStorage.setItem(name, JSON.stringify({ ...draft, check: undefined, edit: 1 }));
  } catch {
    // A browser that stores nothing keeps no drafts.
  }
}

/** The draft that was kept, if there is one. */
export function keptDraft(name: string): Draft | undefined {
  try {
    const text = sessionStorage.getItem(name);
    return text === null ? undefined : (JSON.parse(text) as Draft);
  } catch {
    return undefined;
  }
}

/** Drops one draft. */
export function dropDraft(name: string): void {
  try {
    sessionStorage.removeItem(name);
  } catch {
    // Nothing is stored.
  }
}

/** Drops every draft, as signing out does. */
export function dropDrafts(): void {
  try {
    for (const name of Object.keys(sessionStorage).filter((n) => n.startsWith(prefix))) {
      sessionStorage.removeItem(name);
    }
  } catch {
    // Nothing is stored.
  }
}
