import type { Schema } from "../../api/client";
import type { Search } from "../../lib/filters";

/** A condition that needs action. */
export type AttentionItem = Schema["Attention"];

/** Items of one kind, shown together. */
export interface AttentionGroup {
  kind: AttentionItem["kind"];
  severity: AttentionItem["severity"];
  items: AttentionItem[];
}

/** Groups items by kind, in the order in which the kinds first appear. */
export function groupItems(items: AttentionItem[]): AttentionGroup[] {
  const groups: AttentionGroup[] = [];
  for (const item of items) {
    const group = groups.find((g) => g.kind === item.kind);
    if (group) {
      group.items.push(item);
    } else {
      groups.push({ kind: item.kind, severity: item.severity, items: [item] });
    }
  }
  return groups;
}

/** Title of each kind. */
export const kindTitles: Record<AttentionItem["kind"], string> = {
  alert_firing: "Alert firing",
  no_provider: "No usable provider",
  storage_low: "Storage is nearly full",
  entries_rejected: "Log entries rejected",
  circuit_open: "Circuit open",
  circuit_recovering: "Circuit recovering",
  credential_backing_off: "Credential backing off",
  budget_over: "Budget exhausted",
  budget_warn: "Budget nearly exhausted",
  key_expiring: "Key expires soon",
  price_unknown: "Model without a price",
};

/** The page to fix a condition on. */
export function linkOf(
  kind: AttentionItem["kind"],
  object?: string,
): { to: string; search: Search; label: string } {
  switch (kind) {
    case "circuit_open":
    case "circuit_recovering":
      return {
        to: "/routing/models",
        search: object ? { q: modelOf(object) } : { show: "unhealthy" },
        label: "Models",
      };
    case "price_unknown":
      return {
        to: "/routing/models",
        search: object ? { q: object } : { show: "unpriced" },
        label: "Models",
      };
    case "budget_over":
    case "budget_warn":
      return { to: "/budgets", search: {}, label: "Budgets" };
    case "key_expiring":
      return { to: "/settings/keys", search: {}, label: "API keys" };
    case "storage_low":
    case "entries_rejected":
      return { to: "/settings/data", search: {}, label: "Data" };
    case "alert_firing":
      return { to: "/alerts", search: {}, label: "Alerts" };
    case "credential_backing_off":
    case "no_provider":
      return { to: "/providers", search: {}, label: "Providers" };
  }
}

/** The model of a target, which is named provider/model. */
function modelOf(target: string): string {
  return target.slice(target.indexOf("/") + 1);
}

/** Splits a message into its times and the text between them. */
export function splitTimes(message: string): { text: string; time: boolean }[] {
  return message
    .split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)/)
    .map((text, i) => ({ text, time: i % 2 === 1 }))
    .filter((part) => part.text !== "");
}
