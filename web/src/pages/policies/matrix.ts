import type { Schema } from "../../api/client";

type Route = Schema["BacktestRoute"];

/** The name that stands for all rare routes. */
export const others = "*";

/** Requests by original and new model. */
export interface Matrix {
  from: string[];
  to: string[];
  /** The route between two models; undefined when there is none. */
  at: (from: string, to: string) => Route | undefined;
  most: number;
  /** The sum of rare routes. */
  rest?: Route;
}

/** Creates the matrix of routes, models with the most requests first. */
export function matrixOf(routes: Route[]): Matrix {
  const rest = routes.find((route) => route.from === others && route.to === others);
  const listed = routes.filter((route) => route !== rest);
  const byRoute = new Map(listed.map((route) => [key(route.from, route.to), route]));
  return {
    from: ranked(listed, (route) => route.from),
    to: ranked(listed, (route) => route.to),
    at: (from, to) => byRoute.get(key(from, to)),
    most: Math.max(1, ...listed.map((route) => route.requests)),
    rest,
  };
}

function key(from: string, to: string): string {
  return JSON.stringify([from, to]);
}

/** The names by number of requests, then alphabetically. */
function ranked(routes: Route[], nameOf: (route: Route) => string): string[] {
  const sums = new Map<string, number>();
  for (const route of routes) {
    sums.set(nameOf(route), (sums.get(nameOf(route)) ?? 0) + route.requests);
  }
  return [...sums].sort(([a, n], [b, m]) => m - n || a.localeCompare(b)).map(([name]) => name);
}

/** Display name of a model in a route; an empty name means rejected. */
export function routeName(name: string): string {
  return name === "" ? "rejected" : name;
}

/** A share in percent; null if the whole is zero. */
export function shareOf(part: number, whole: number): number | null {
  return whole > 0 ? (100 * part) / whole : null;
}

/** Formats a change with its sign. */
export function signed(value: number, digits = 3): string {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) {
    return `±${text}`;
  }
  return `${value > 0 ? "+" : "−"}${text}`;
}
