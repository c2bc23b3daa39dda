import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

import type { Search } from "./filters";

/** Parses the query of a URL. All values are strings. */
export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

/** Formats parameters as the query of a URL. Commas and colons are not escaped, so that links stay readable. */
export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== "") {
      params.set(name, String(value));
    }
  }
  const text = params.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return text ? `?${text}` : "";
}

/** A dashboard page with its parameters. */
export interface Destination {
  to: string;
  search?: Search;
  params?: Record<string, string>;
}

/** useGo returns a function that navigates to a page. */
export function useGo(): (destination: Destination, replace?: boolean) => Promise<void> {
  const navigate = useNavigate();
  return useCallback(
    ({ to, search, params }, replace = false) =>
      navigate({ to, search: search as never, params: params as never, replace }),
    [navigate],
  );
}

/**
 * useSearchParams keeps the state of a page in its URL. Changes are merged; undefined removes a parameter. A change
 * replaces the current history entry unless push is set.
 */
export function useSearchParams(): [Search, (change: Search, push?: boolean) => void] {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (next: Search, push = false) => {
      const merge = (before: Search) => ({ ...before, ...next });
      void navigate({ to: ".", search: merge as never, replace: !push, resetScroll: false });
    },
    [navigate],
  );
  return [search, change];
}
