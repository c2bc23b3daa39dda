import { formatMoney } from "../../lib/money";
import type { Budget } from "./query";

/** The labels of the kinds of budgets. */
export const kindLabels: Record<Budget["kind"], string> = {
  workspace: "Workspace",
  key: "API key",
  session: "Session",
  user: "End user",
};

/** Describes what a budget limits: "API key", "Session of ci". */
export function ownerText(budget: Pick<Budget, "kind" | "key_name" | "by_policy">): string {
  const shared = budget.kind === "session" || budget.kind === "user";
  const owner =
    shared && budget.key_name ? `${kindLabels[budget.kind]} of ${budget.key_name}` : kindLabels[budget.kind];
  return budget.by_policy ? `${owner}, set by a policy` : owner;
}

/** Describes the amount and the period of a budget: "$50.00 per month". */
export function amountText(budget: Pick<Budget, "amount_usd" | "period">): string {
  const amount = formatMoney(budget.amount_usd);
  return budget.period === "total" ? `${amount} in total` : `${amount} per ${budget.period}`;
}

/**
 * Formats a day in the time zone of the budget, in which its periods begin: "1 December". A daily budget has times
 * instead: "16:40".
 */
export function dayText(iso: string, budget: Pick<Budget, "period" | "zone">): string {
  const options: Intl.DateTimeFormatOptions =
    budget.period === "day"
      ? { hour: "2-digit", minute: "2-digit", hour12: false }
      : { day: "numeric", month: "long" };
  const zone = budget.zone || "UTC";
  try {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone }).format(new Date(iso));
  } catch {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" }).format(new Date(iso));
  }
}

type Forecasted = Pick<Budget, "period" | "zone" | "resets_at" | "forecast">;

/** Describes the forecast of a budget: "Runs out around 24 November; resets 1 December". */
export function outlookText(budget: Forecasted): string {
  const { forecast, resets_at: reset } = budget;
  const resets = reset ? `; resets ${dayText(reset, budget)}` : "";
  switch (forecast.outlook) {
    case "used_up":
      return `Used up${resets}`;
    case "runs_out":
      return forecast.used_up_at
        ? `Runs out around ${dayText(forecast.used_up_at, budget)}${resets}`
        : `Runs out${resets}`;
    case "lasts":
      return reset ? `Lasts until the reset on ${dayText(reset, budget)}` : "Lasts more than a year";
    case "idle":
      return `No spending in the last ${budget.period === "day" ? "24 hours" : "7 days"}${resets}`;
    case "unknown":
      return `Not enough data for a forecast${resets}`;
  }
}

/** The colour of the bar that shows a budget. */
export function barColor(budget: Pick<Budget, "percent" | "warn_percent" | "forecast">): string {
  const percent = budget.percent ?? 0;
  if (percent >= 100 || budget.forecast.outlook === "used_up") {
    return "red";
  }
  return percent >= (budget.warn_percent || 80) || budget.forecast.outlook === "runs_out" ? "orange" : "cyan";
}
