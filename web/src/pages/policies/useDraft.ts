import { useBlocker } from "@tanstack/react-router";
import { type Dispatch, useEffect, useReducer } from "react";

import type { Schema } from "../../api/client";
import { checkPolicies } from "../../api/routing";
import { type Action, type Draft, draftOf, isDirty, isReadable, reduce, writtenBy } from "./draft";
import { dropDraft, keepDraft, keptDraft } from "./keptDraft";

const pauseMs = 300;

/**
 * A draft of the workspace's policies. Every edit is checked by the gateway after a pause, and kept under the name, in
 * case the session ends before it is saved.
 */
export function useDraft(
  held: Schema["WorkspacePolicies"],
  name: string,
): {
  draft: Draft;
  change: Dispatch<Action>;
  /** Why the last edit could not be checked. */
  failure: unknown;
} {
  const [draft, change] = useReducer(reduce, held, (first) => keptDraft(name) ?? draftOf(first));
  const [failure, fail] = useReducer((_: unknown, next: unknown) => next, undefined);
  const { edit } = draft;
  useEffect(() => {
    if (edit === 0 || !isReadable(draft)) {
      return undefined;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      checkPolicies(writtenBy(draft), controller.signal)
        .then((check) => {
          fail(undefined);
          change({ type: "checked", edit, check });
        })
        .catch((error: unknown) => controller.signal.aborted || fail(error));
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
    // The draft is what it was at this edit.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [edit]);
  // What somebody else saves is taken over as long as nothing would be lost by it.
  const outdated = held.version !== draft.basedOn && !isDirty(draft);
  useEffect(() => {
    if (outdated) {
      change({ type: "reset", held });
    }
  }, [outdated, held]);
  useEffect(() => (isDirty(draft) ? keepDraft(name, draft) : dropDraft(name)), [name, draft]);
  useEffect(() => {
    // Whoever closes or reloads the page was asked, and drops the draft.
    const drop = () => dropDraft(name);
    window.addEventListener("pagehide", drop);
    return () => window.removeEventListener("pagehide", drop);
  }, [name]);
  return { draft, change, failure };
}

/** Asks before the page is left with unsaved changes: within the dashboard, and by closing the tab. */
export function useGuard(dirty: boolean) {
  return useBlocker({
    shouldBlockFn: ({ current, next }) => dirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => dirty,
    withResolver: true,
  });
}
