import type { Schema } from "../../api/client";
import { nanoText, parseNano } from "../../lib/money";

export type ComparisonSettings = Schema["ComparisonSettings"];

/** The input values of the comparison dialog. Shares are percentages. */
export interface ComparisonDraft {
  share: number | "";
  holdout: number | "";
  baseline: string;
  budget: string;
  judge: string;
  hook: string;
}

/** The draft of the active settings, or of a new comparison. */
export function comparisonDraft(settings: ComparisonSettings | undefined): ComparisonDraft {
  return {
    share: percent(settings?.share ?? 0.05),
    holdout: percent(settings?.holdout ?? 0),
    baseline: settings?.baseline ?? "",
    budget: settings?.budget_usd ?? "10",
    judge: settings?.judge ?? "",
    hook: settings?.hook ?? "",
  };
}

/** The settings of a draft; undefined while a required value is missing or invalid. */
export function comparisonBody(draft: ComparisonDraft): ComparisonSettings | undefined {
  const share = Number(draft.share) / 100;
  const holdout = Number(draft.holdout) / 100;
  const budget = amount(draft.budget);
  if (!(share > 0 && share + holdout <= 1) || draft.baseline === "" || budget === undefined) {
    return undefined;
  }
  return {
    share: round(share),
    holdout: round(holdout),
    baseline: draft.baseline,
    budget_usd: budget,
    judge: draft.judge,
    hook: draft.hook.trim(),
  };
}

/** Parses a positive amount; undefined for any other text. */
export function amount(text: string): string | undefined {
  try {
    const nano = parseNano(text.trim().replace(/^\$/, ""));
    return nano > 0n ? nanoText(nano) : undefined;
  } catch {
    return undefined;
  }
}

function percent(share: number): number {
  return round(share * 100);
}

function round(n: number): number {
  return Math.round(n * 1e6) / 1e6;
}
