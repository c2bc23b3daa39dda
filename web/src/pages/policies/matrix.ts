import type { Schema } from "../../api/client";

type Route = Schema["BacktestRoute"];

/** The name that stands for many rare routes taken together. */
export const others = "*";

/** From which model to which so many requests go. */
export interface Matrix {
  from: string[];
  to: string[];
  /** The requests from one to another; undefined where none go. */
  at: (from: string, to: string) => Route | undefined;
  most: number;
  /** Routes that are too rare to be told apart. */
  rest?: Route;
}

/** Makes a table of routes: those with the most requests first, both ways. */
export function matrixOf(routes: Route[]): Matrix {
  const rest = routes.find((route) => route.from === others && route.to === others);
  const told = routes.filter((route) => route !== rest);
  const byRoute = new Map(told.map((route) => [key(route.from, route.to), route]));
  return {
    from: ranked(told, (route) => route.from),
    to: ranked(told, (route) => route.to),
    at: (from, to) => byRoute.get(key(from, to)),
    most: Math.max(1, ...told.map((route) => route.requests)),
    rest,
  };
}

function key(from: string, to: string): string {
  return JSON.stringify([from, to]);
}

/** The names, those with the most requests first; among equals by the alphabet. */
function ranked(routes: Route[], nameOf: (route: Route) => string): string[] {
  const sums = new Map<string, number>();
  for (const route of routes) {
    sums.set(nameOf(route), (sums.get(nameOf(route)) ?? 0) + route.requests);
  }
  return [...sums].sort(([a, n], [b, m]) => m - n || a.localeCompare(b)).map(([name]) => name);
}

/** What people read for a name in a route. */
export function routeName(name: string): string {
  return name === "" ? "refused" : name;
}

/** A share in percent; null of nothing. */
export function shareOf(part: number, whole: number): number | null {
  return whole > 0 ? (100 * part) / whole : null;
}

/** A change of the predicted chance, with its sign. */
export function signed(value: number, digits = 3): string {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) {
    return `±${text}`;
  }
  return `${value > 0 ? "+" : "−"}${text}`;
}
