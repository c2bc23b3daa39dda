import type { Draft } from "./draft";

// Drafts survive the end of a session: after signing in again in the same tab, the user finds the draft. They are stored
// per tab, account and workspace.

const prefix = "fairlead-policy-draft-";

/** The storage key of a draft. */
export function draftName(accountId: string, workspaceId: string): string {
  return `${prefix}${accountId}-${workspaceId}`;
}

/** Stores a draft without its check, which is repeated after loading. */
export function storeDraft(name: string, draft: Draft): void {
  try {
    sessionStorage.setItem(name, JSON.stringify({ ...draft, check: undefined, edit: 1 }));
  } catch {
    // Session storage is unavailable.
  }
}

/** Loads a stored draft; undefined when there is none. */
export function loadDraft(name: string): Draft | undefined {
  try {
    const text = sessionStorage.getItem(name);
    return text === null ? undefined : (JSON.parse(text) as Draft);
  } catch {
    return undefined;
  }
}

/** Removes a stored draft. */
export function removeDraft(name: string): void {
  try {
    sessionStorage.removeItem(name);
  } catch {
    // Session storage is unavailable.
  }
}

/** Removes all stored drafts, when signing out. */
export function removeAllDrafts(): void {
  try {
    for (const name of Object.keys(sessionStorage).filter((n) => n.startsWith(prefix))) {
      sessionStorage.removeItem(name);
    }
  } catch {
    // Session storage is unavailable.
  }
}
