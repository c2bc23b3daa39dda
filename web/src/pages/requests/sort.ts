import type { Filters } from "../../lib/filters";
import { formatCount } from "../../lib/numbers";

/** An order in which the API lists requests: newest, most expensive, slowest or longest first. */
export type Sort = "time" | "cost" | "latency" | "tokens";

/** The orders with their display names. */
export const sortOptions: { value: Sort; label: string }[] = [
  { value: "time", label: "Newest first" },
  { value: "cost", label: "Most expensive first" },
  { value: "latency", label: "Slowest first" },
  { value: "tokens", label: "Most tokens first" },
];

/** Number of requests in a list that is not sorted by time. Such a list has one page. */
export const sortedLimit = 200;

const presetSorts: Record<string, Sort> = { expensive: "cost", slowest: "latency" };

/** The order of the list: the parameter of the URL, or the order of the preset. */
export function sortOf(search: Record<string, string | undefined>, filters: Filters): Sort {
  const value = search["sort"];
  const known = sortOptions.find((option) => option.value === value);
  if (known) {
    return known.value;
  }
  return presetSorts[filters.preset ?? ""] ?? "time";
}

/** The URL parameter for an order; undefined for the default order. */
export function sortParameter(sort: Sort, filters: Filters): string | undefined {
  return sort === (presetSorts[filters.preset ?? ""] ?? "time") ? undefined : sort;
}

/** Describes which requests a sorted list shows; undefined for a list sorted by time. */
export function sortNote(sort: Sort, shown: number): string | undefined {
  if (sort === "time" || shown === 0) {
    return undefined;
  }
  if (sort === "tokens") {
    return "The requests with the most tokens among the newest 10,000 in this time range.";
  }
  const which = sort === "cost" ? "most expensive" : "slowest";
  return shown < sortedLimit
    ? `Sorted by ${sort}: ${which} first.`
    : `The ${formatCount(sortedLimit)} ${which} requests in this time range.`;
}
