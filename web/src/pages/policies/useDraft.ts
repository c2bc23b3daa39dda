import { useBlocker } from "@tanstack/react-router";
import { type Dispatch, useEffect, useReducer } from "react";

import type { Schema } from "../../api/client";
import { checkPolicies } from "../../api/routing";
import { type Action, type Draft, draftOf, isDirty, isCheckable, reduce, inputOf } from "./draft";
import { removeDraft, storeDraft, loadDraft } from "./storedDraft";

const debounceMs = 300;

/**
 * useDraft holds a draft of the workspace's policies. The gateway checks every edit after a pause. The draft is stored
 * under the name, in case the session ends before it is saved.
 */
export function useDraft(
  saved: Schema["WorkspacePolicies"],
  name: string,
): {
  draft: Draft;
  change: Dispatch<Action>;
  /** Why the last edit could not be checked. */
  failure: unknown;
} {
  const [draft, change] = useReducer(reduce, saved, (first) => loadDraft(name) ?? draftOf(first));
  const [failure, fail] = useReducer((_: unknown, next: unknown) => next, undefined);
  const { edit } = draft;
  useEffect(() => {
    if (edit === 0 || !isCheckable(draft)) {
      return undefined;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      checkPolicies(inputOf(draft), controller.signal)
        .then((check) => {
          fail(undefined);
          change({ type: "checked", edit, check });
        })
        .catch((error: unknown) => controller.signal.aborted || fail(error));
    }, debounceMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
    // The effect depends on the edit number only.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [edit]);
  // A version that another user saved replaces a draft without changes.
  const outdated = saved.version !== draft.basedOn && !isDirty(draft);
  useEffect(() => {
    if (outdated) {
      change({ type: "reset", saved });
    }
  }, [outdated, saved]);
  useEffect(() => (isDirty(draft) ? storeDraft(name, draft) : removeDraft(name)), [name, draft]);
  useEffect(() => {
    // The browser asked before closing or reloading the page, so the draft is dropped.
    const drop = () => removeDraft(name);
    window.addEventListener("pagehide", drop);
    return () => window.removeEventListener("pagehide", drop);
  }, [name]);
  return { draft, change, failure };
}

/** Asks before leaving the page with unsaved changes, by navigation or by closing the tab. */
export function useGuard(dirty: boolean) {
  return useBlocker({
    shouldBlockFn: ({ current, next }) => dirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => dirty,
    withResolver: true,
  });
}
