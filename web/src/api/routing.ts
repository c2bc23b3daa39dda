import { queryOptions } from "@tanstack/react-query";

import type { Filters } from "../lib/filters";
import type { Range } from "../lib/range";
import { api, must, type Schema } from "./client";

/** One policy as written in the form or in YAML. */
export type Policy = Schema["Policy"];

/** The active policies, with the names an editor can complete. */
export const policiesQuery = queryOptions({
  queryKey: ["policies"],
  queryFn: () => must(api.GET("/policies")),
});

/** How often each policy matched in the last 24 hours. */
export const policyHitsQuery = queryOptions({
  queryKey: ["policies", "hits"],
  queryFn: () => must(api.GET("/policies/hits", { params: { query: { from: "now-24h" } } })),
  staleTime: 30_000,
});

/** The versions of the workspace's policies, newest first. */
export const policyVersionsQuery = queryOptions({
  queryKey: ["policies", "versions"],
  queryFn: () => must(api.GET("/policies/versions")),
});

/** The difference between two versions; from 0 compares with an empty document. */
export function policyDiffQuery(from: number, to: number) {
  return queryOptions({
    queryKey: ["policies", "diff", from, to],
    queryFn: () => must(api.GET("/policies/diff", { params: { query: { from, to } } })),
    staleTime: Infinity, // a version never changes
  });
}

/** Policies as YAML, or as a list from the form. */
export type PolicyInput = { source: string } | { policies: Policy[] };

/** Validates policies without saving them. */
export function checkPolicies(input: PolicyInput, signal?: AbortSignal): Promise<Schema["PolicyCheck"]> {
  return must(api.POST("/policies/check", { body: input, signal }));
}

/** Saves YAML as a new version, based on the version that was edited. */
export function savePolicies(source: string, basedOn: number, note: string) {
  return must(api.PUT("/policies", { body: { source, based_on: basedOn, note } }));
}

/** Saves an earlier version as a new one. */
export function rollBackPolicies(version: number, basedOn: number) {
  return must(api.POST("/policies/rollback", { body: { version, based_on: basedOn } }));
}

/** Input of a dry run: the draft and the requests to route. */
export type Trial = Schema["TryPoliciesInputBody"];

/** Routes requests with a draft and with the active policies. No provider is called. */
export function tryPolicies(trial: Trial): Promise<Schema["PolicyTrial"]> {
  return must(api.POST("/policies/dry-run", { body: trial }));
}

/** The recent backtests, newest first. */
export const backtestsQuery = queryOptions({
  queryKey: ["backtests"],
  queryFn: () => must(api.GET("/backtests")),
});

const pollMs = 500;

/** One backtest, polled while it runs. */
export function backtestQuery(id: string) {
  return queryOptions({
    queryKey: ["backtests", id],
    queryFn: () => must(api.GET("/backtests/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.state === "running" ? pollMs : false),
    staleTime: pollMs,
  });
}

/** The requests of a backtest and its options. */
export interface BacktestRequest {
  range: Range;
  filters: Filters;
  body: Schema["StartBacktestInputBody"];
}

/** Starts a backtest. */
export function startBacktest({ range, filters, body }: BacktestRequest): Promise<Schema["Backtest"]> {
  const query = { ...filters, ...range } as Filters & Range & { preset?: never; source?: never };
  return must(api.POST("/backtests", { params: { query }, body }));
}

/** Cancels a running backtest. */
export function cancelBacktest(id: string): Promise<Schema["Backtest"]> {
  return must(api.DELETE("/backtests/{id}", { params: { path: { id } } }));
}

/** Recomputes a logged decision and reports differences. */
export function verifyRequest(id: string): Promise<Schema["Verification"]> {
  return must(api.GET("/requests/{id}/verify", { params: { path: { id } } }));
}

/** The ratings of a request's response. */
export function requestFeedbackQuery(id: string) {
  return queryOptions({
    queryKey: ["request", id, "feedback"],
    queryFn: () => must(api.GET("/requests/{id}/feedback", { params: { path: { id } } })),
    staleTime: 30_000,
  });
}

/** Rates a response, replacing an earlier rating by the same person. */
export function rateRequest(id: string, rating: { score: number; comment?: string }) {
  return must(api.POST("/requests/{id}/feedback", { params: { path: { id } }, body: rating }));
}
