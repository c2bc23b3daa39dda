import type { Schema } from "../../api/client";
import { plural } from "../../lib/numbers";

type Rules = Schema["RedactionView"];
type Facts = Schema["RedactionFacts"];

/** Maximum number of custom rules, the same as in the gateway. */
export const maxCustom = 20;

/** Rules as edited in the form. */
export interface Draft {
  /** Whether the gateway's rules apply. */
  inherit: boolean;
  builtin: string[];
  custom: Rules["custom"];
}

/** Creates a draft of the active rules. */
export function draftOf(rules: Rules | null | undefined, facts: Facts): Draft {
  return {
    inherit: !rules,
    builtin: rules ? rules.builtin : facts.default,
    custom: rules ? rules.custom : [],
  };
}

/** The rules of a draft, in a fixed order so that equal drafts compare equal; null to inherit. */
export function rulesOf(draft: Draft, facts: Facts): Rules | null {
  if (draft.inherit) {
    return null;
  }
  return effectiveRules(draft, facts);
}

/** The rules that would apply with a draft, including inherited ones. */
export function effectiveRules(draft: Draft, facts: Facts): Rules {
  const chosen = draft.inherit ? facts.default : draft.builtin;
  const known = facts.builtin.map((rule) => rule.name).filter((name) => chosen.includes(name));
  const unknown = chosen.filter((name) => !known.includes(name));
  return {
    builtin: [...known, ...unknown],
    custom: draft.inherit ? [] : draft.custom.map(({ name, pattern }) => ({ name: name.trim(), pattern })),
  };
}

/** Reports whether a draft differs from the saved rules. */
export function isChanged(draft: Draft, saved: Rules | null | undefined, facts: Facts): boolean {
  return JSON.stringify(rulesOf(draft, facts)) !== JSON.stringify(rulesOf(draftOf(saved, facts), facts));
}

/** Turns one built-in rule on or off. */
export function withBuiltin(draft: Draft, name: string, on: boolean): Draft {
  const others = draft.builtin.filter((other) => other !== name);
  return { ...draft, builtin: on ? [...others, name] : others };
}

/** Formats counts per rule: "2 redactions: email 1, card 1." */
export function countsText(counts: Record<string, number>): string {
  const found = Object.entries(counts);
  const sum = found.reduce((n, [, count]) => n + count, 0);
  if (sum === 0) {
    return "No matches.";
  }
  const each = found.map(([name, count]) => `${name} ${count}`).join(", ");
  return `${plural(sum, "redaction")}: ${each}.`;
}
