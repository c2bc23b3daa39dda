import type { Schema } from "../../api/client";
import type { Search } from "../../lib/filters";

/** One fact that somebody should act on. */
export type Fact = Schema["Attention"];

/** Facts of one kind, which are shown together. */
export interface FactGroup {
  kind: Fact["kind"];
  severity: Fact["severity"];
  facts: Fact[];
}

/** Puts facts of one kind together, in the order in which the kinds first appear. */
export function groupFacts(facts: Fact[]): FactGroup[] {
  const groups: FactGroup[] = [];
  for (const fact of facts) {
    const group = groups.find((g) => g.kind === fact.kind);
    if (group) {
      group.facts.push(fact);
    } else {
      groups.push({ kind: fact.kind, severity: fact.severity, facts: [fact] });
    }
  }
  return groups;
}

/** What people read for a kind. */
export const kindTitles: Record<Fact["kind"], string> = {
  no_provider: "No provider can be used",
  storage_low: "Storage is nearly full",
  circuit_open: "Circuit open",
  circuit_recovering: "Circuit recovering",
  credential_backing_off: "Credential resting",
  budget_over: "Budget used up",
  budget_warn: "Budget nearly used up",
  key_expiring: "Key expires soon",
  price_unknown: "Model without a price",
};

/** Where the fact is dealt with. */
export function placeOf(kind: Fact["kind"], object?: string): { to: string; search: Search; label: string } {
  switch (kind) {
    case "circuit_open":
    case "circuit_recovering":
      return {
        to: "/routing/models",
        search: object ? { q: modelOf(object) } : { show: "trouble" },
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
    case "key_expiring":
      return { to: "/settings/keys", search: {}, label: "API keys" };
    case "storage_low":
      return { to: "/settings/data", search: {}, label: "Data" };
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
