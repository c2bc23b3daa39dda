import { queryOptions } from "@tanstack/react-query";

import type { Filters } from "../lib/filters";
import type { Range } from "../lib/range";
import { api, must, type Schema } from "./client";

/** One rule as people write it. */
export type Policy = Schema["Policy"];

/** The policies in force, with what an editor needs to know. */
export const policiesQuery = queryOptions({
  queryKey: ["policies"],
  queryFn: () => must(api.GET("/policies")),
});

/** What each policy did to the requests of the last day. */
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

/** What differs between two versions; from 0 is nothing at all. */
export function policyDiffQuery(from: number, to: number) {
  return queryOptions({
    queryKey: ["policies", "diff", from, to],
    queryFn: () => must(api.GET("/policies/diff", { params: { query: { from, to } } })),
    staleTime: Infinity, // a version never changes
  });
}

/** Policies as text, or as a form has them. */
export type Written = { source: string } | { policies: Policy[] };

/** Checks policies without saving them. */
export function checkPolicies(written: Written, signal?: AbortSignal): Promise<Schema["PolicyCheck"]> {
  return must(api.POST("/policies/check", { body: written, signal }));
}

/** Saves a text as a new version, based on the version that was edited. */
export function savePolicies(source: string, basedOn: number, note: string) {
  return must(api.PUT("/policies", { body: { source, based_on: basedOn, note } }));
}

/** Saves an earlier version as a new one. */
export function rollBackPolicies(version: number, basedOn: number) {
  return must(api.POST("/policies/rollback", { body: { version, based_on: basedOn } }));
}

/** What to try a draft on. */
export type Trial = Schema["TryPoliciesInputBody"];

/** Decides on requests under a draft and under what is in force. No provider is called. */
export function tryPolicies(trial: Trial): Promise<Schema["PolicyTrial"]> {
  return must(api.POST("/policies/dry-run", { body: trial }));
}

/** The backtests that the gateway remembers, newest first. */
export const backtestsQuery = queryOptions({
  queryKey: ["backtests"],
  queryFn: () => must(api.GET("/backtests")),
});

const pollMs = 500;

/** One backtest: asked again and again while it runs. */
export function backtestQuery(id: string) {
  return queryOptions({
    queryKey: ["backtests", id],
    queryFn: () => must(api.GET("/backtests/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.state === "running" ? pollMs : false),
    staleTime: pollMs,
  });
}

/** Which requests are decided anew, and by what. */
export interface BacktestAsk {
  range: Range;
  filters: Filters;
  body: Schema["StartBacktestInputBody"];
}

/** Starts a backtest. */
export function startBacktest({ range, filters, body }: BacktestAsk): Promise<Schema["Backtest"]> {
  const query = { ...filters, ...range } as Filters & Range & { preset?: never; source?: never };
  return must(api.POST("/backtests", { params: { query }, body }));
}

/** Ends a backtest that runs. */
export function cancelBacktest(id: string): Promise<Schema["Backtest"]> {
  return must(api.DELETE("/backtests/{id}", { params: { path: { id } } }));
}

/** Computes the decision of a request again and compares it with the log. */
export function verifyRequest(id: string): Promise<Schema["Verification"]> {
  return must(api.GET("/requests/{id}/verify", { params: { path: { id } } }));
}

/** What was said about the answer of a request. */
export function requestFeedbackQuery(id: string) {
  return queryOptions({
    queryKey: ["request", id, "feedback"],
    queryFn: () => must(api.GET("/requests/{id}/feedback", { params: { path: { id } } })),
    staleTime: 30_000,
  });
}

/** Says how good an answer was, in place of what the same person said before. */
export function rateRequest(id: string, rating: { score: number; comment?: string }) {
  return must(api.POST("/requests/{id}/feedback", { params: { path: { id } }, body: rating }));
}

/** What the workspace's ratings make of models. */
export const feedbackQuery = queryOptions({
  queryKey: ["feedback"],
  queryFn: () => must(api.GET("/routing/feedback")),
  refetchInterval: 5_000, // corrections follow ratings after some seconds
});

/** Lets the ratings so far count no longer: those of one model, or all. */
export function resetFeedback(model?: string): Promise<Schema["FeedbackSummary"]> {
  return must(api.POST("/routing/feedback/reset", { body: { model } }));
}
