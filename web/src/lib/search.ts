import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

import type { Search } from "./filters";

/** Reads the query of an address as plain parameters: everything is text, and links stay readable. */
export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

/** Writes parameters as the query of an address. Commas and colons stay as they are, because people read these. */
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

/** A page of the dashboard with its parameters. */
export interface Place {
  to: string;
  search?: Search;
  params?: Record<string, string>;
}

/** useGo goes to a page. */
export function useGo(): (place: Place, replace?: boolean) => Promise<void> {
  const navigate = useNavigate();
  return useCallback(
    ({ to, search, params }, replace = false) =>
      navigate({ to, search: search as never, params: params as never, replace }),
    [navigate],
  );
}

/**
 * useSearchParams is the state of a page in its address. Changes are merged; undefined removes a parameter. A change
 * replaces the entry in the browser's history unless it is told to push one.
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
