import type { Schema } from "../../api/client";

/** A key as edited in the form: each field is the value of its control. */
export interface KeyDraft {
  name: string;
  scopes: string[];
  allowedModels: string[];
  baselineModel: string;
  requestsPerMinute: number | "";
  tokensPerMinute: number | "";
  concurrent: number | "";
  budgetAmount: string;
  budgetPeriod: string;
  budgetWarn: number | "";
  budgetBlocks: boolean;
  sessionAmount: string;
  userAmount: string;
  userPeriod: string;
  sessionWarn: number | "";
  downgrade: boolean;
  turnsPerMinute: number | "";
  spendPerMinute: string;
  /** "none", a number of days, or "date". */
  expiry: string;
  expiryDate: string;
  logBodies: string;
  /** "off", or the mode of the response cache. */
  cacheMode: string;
  cacheMinutes: number | "";
  cacheShared: boolean;
  errorFormat: string;
  allowUnpriced: boolean;
  tags: string[];
}

/** The draft of a new key, which only needs a name. */
export const emptyDraft: KeyDraft = {
  name: "",
  scopes: ["inference"],
  allowedModels: [],
  baselineModel: "",
  requestsPerMinute: "",
  tokensPerMinute: "",
  concurrent: "",
  budgetAmount: "",
  budgetPeriod: "month",
  budgetWarn: 80,
  budgetBlocks: true,
  sessionAmount: "",
  userAmount: "",
  userPeriod: "day",
  sessionWarn: 80,
  downgrade: true,
  turnsPerMinute: "",
  spendPerMinute: "",
  expiry: "none",
  expiryDate: "",
  logBodies: "inherit",
  cacheMode: "off",
  cacheMinutes: 60,
  cacheShared: false,
  errorFormat: "",
  allowUnpriced: false,
  tags: [],
};

/** Creates the draft of an existing key. */
export function draftOf(key: Schema["KeyView"]): KeyDraft {
  return {
    name: key.name,
    scopes: key.scopes,
    allowedModels: key.allowed_models,
    baselineModel: key.baseline_model ?? "",
    requestsPerMinute: key.limits.requests_per_minute || "",
    tokensPerMinute: key.limits.tokens_per_minute || "",
    concurrent: key.limits.concurrent || "",
    budgetAmount: key.budget?.amount_usd ?? "",
    budgetPeriod: key.budget?.period ?? "month",
    budgetWarn: key.budget ? (key.budget.warn_percent ?? "") : 80,
    budgetBlocks: !key.budget?.warn_only,
    sessionAmount: key.sessions?.budget?.amount_usd ?? "",
    userAmount: key.sessions?.user_budget?.amount_usd ?? "",
    userPeriod: key.sessions?.user_budget?.period ?? "day",
    sessionWarn:
      (key.sessions?.budget ?? key.sessions?.user_budget)
        ? ((key.sessions?.budget ?? key.sessions?.user_budget)?.warn_percent ?? "")
        : 80,
    downgrade: key.sessions ? key.sessions.downgrade === true : true,
    turnsPerMinute: key.sessions?.turns_per_minute || "",
    spendPerMinute: key.sessions?.spend_per_minute_usd ?? "",
    expiry: key.expires_at ? "date" : "none",
    expiryDate: key.expires_at?.slice(0, 10) ?? "",
    logBodies: key.log_bodies === null ? "inherit" : key.log_bodies ? "on" : "off",
    cacheMode: key.cache?.mode ?? "off",
    cacheMinutes: key.cache ? key.cache.ttl_seconds / 60 : 60,
    cacheShared: key.cache?.shared === true,
    errorFormat: key.error_format ?? "",
    allowUnpriced: key.allow_unpriced,
    tags: Object.entries(key.tags).map(([name, value]) => `${name}=${value}`),
  };
}

function budgetOf(draft: KeyDraft): Schema["BudgetView"] | undefined {
  if (!draft.budgetAmount) {
    return undefined;
  }
  return {
    amount_usd: draft.budgetAmount,
    period: draft.budgetPeriod as Schema["BudgetView"]["period"],
    warn_percent: draft.budgetWarn === "" ? undefined : draft.budgetWarn,
    warn_only: draft.budgetBlocks ? undefined : true,
  };
}

/** The limits of each session and each end user; undefined for none. */
function sessionsOf(draft: KeyDraft): Schema["SessionLimits"] | undefined {
  if (!draft.sessionAmount && !draft.userAmount && !draft.turnsPerMinute && !draft.spendPerMinute) {
    return undefined;
  }
  const warn = draft.sessionWarn === "" ? undefined : draft.sessionWarn;
  const period = draft.userPeriod as Schema["BudgetView"]["period"];
  return {
    budget: draft.sessionAmount
      ? { amount_usd: draft.sessionAmount, period: "total", warn_percent: warn }
      : undefined,
    user_budget: draft.userAmount ? { amount_usd: draft.userAmount, period, warn_percent: warn } : undefined,
    downgrade: draft.downgrade || undefined,
    turns_per_minute: draft.turnsPerMinute || undefined,
    spend_per_minute_usd: draft.spendPerMinute || undefined,
  };
}

/** The use of the response cache; undefined if it is disabled. */
function cacheOf(draft: KeyDraft): Schema["ResponseCache"] | undefined {
  if (draft.cacheMode === "off") {
    return undefined;
  }
  return {
    mode: draft.cacheMode as Schema["ResponseCache"]["mode"],
    ttl_seconds: Math.round((draft.cacheMinutes || 0) * 60),
    shared: draft.cacheShared || undefined,
  };
}

function limitsOf(draft: KeyDraft): Schema["KeyLimits"] {
  return {
    requests_per_minute: draft.requestsPerMinute || undefined,
    tokens_per_minute: draft.tokensPerMinute || undefined,
    concurrent: draft.concurrent || undefined,
  };
}

function expiryOf(draft: KeyDraft, now: number): string | undefined {
  switch (draft.expiry) {
    case "none":
      return undefined;
    case "date":
      return draft.expiryDate ? new Date(`${draft.expiryDate}T23:59:59`).toISOString() : undefined;
    default:
      return new Date(now + Number(draft.expiry) * 86_400_000).toISOString();
  }
}

function tagsOf(draft: KeyDraft): Record<string, string> {
  return Object.fromEntries(
    draft.tags.map((tag) => {
      const [name = "", ...value] = tag.split("=");
      return [name.trim(), value.join("=").trim()];
    }),
  );
}

const logBodies: Record<string, boolean | undefined> = { inherit: undefined, on: true, off: false };

/** The request body that creates a key. */
export function createBody(draft: KeyDraft, now = Date.now()): Schema["CreateKeyInputBody"] {
  return {
    name: draft.name.trim(),
    scopes: draft.scopes as Schema["CreateKeyInputBody"]["scopes"],
    allowed_models: draft.allowedModels.length > 0 ? draft.allowedModels : undefined,
    baseline_model: draft.baselineModel || undefined,
    limits: limitsOf(draft),
    budget: budgetOf(draft),
    sessions: sessionsOf(draft),
    expires_at: expiryOf(draft, now),
    log_bodies: logBodies[draft.logBodies],
    cache: cacheOf(draft),
    error_format: draft.errorFormat === "openai" ? "openai" : undefined,
    allow_unpriced: draft.allowUnpriced || undefined,
    tags: draft.tags.length > 0 ? tagsOf(draft) : undefined,
  };
}

/** The request body that updates a key. It contains every field, so that cleared fields are removed. */
export function updateBody(draft: KeyDraft, now = Date.now()): Schema["UpdateKeyInputBody"] {
  return {
    name: draft.name.trim(),
    scopes: draft.scopes as Schema["UpdateKeyInputBody"]["scopes"],
    allowed_models: draft.allowedModels,
    baseline_model: draft.baselineModel || null,
    limits: limitsOf(draft),
    budget: budgetOf(draft) ?? null,
    sessions: sessionsOf(draft) ?? null,
    expires_at: expiryOf(draft, now) ?? null,
    log_bodies: logBodies[draft.logBodies] ?? null,
    cache: cacheOf(draft) ?? null,
    error_format: draft.errorFormat === "openai" ? "openai" : null,
    allow_unpriced: draft.allowUnpriced,
    tags: tagsOf(draft),
  };
}
