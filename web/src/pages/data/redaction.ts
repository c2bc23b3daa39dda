import type { Schema } from "../../api/client";

type Rules = Schema["RedactionView"];
type Facts = Schema["RedactionFacts"];

/** The most rules of one's own, as the gateway has it. */
export const maxCustom = 20;

/** Rules as they are being edited. */
export interface Draft {
  /** The gateway's rules apply. */
  inherit: boolean;
  builtin: string[];
  custom: Rules["custom"];
}

/** Begins editing with what is in force. */
export function draftOf(rules: Rules | null | undefined, facts: Facts): Draft {
  return {
    inherit: !rules,
    builtin: rules ? rules.builtin : facts.default,
    custom: rules ? rules.custom : [],
  };
}

/** The rules that a draft stands for, in one order, so that equal ones look equal. */
export function rulesOf(draft: Draft, facts: Facts): Rules | null {
  if (draft.inherit) {
    return null;
  }
  return inForce(draft, facts);
}

/** What would be taken out under a draft, also where the gateway's rules apply. */
export function inForce(draft: Draft, facts: Facts): Rules {
  const chosen = draft.inherit ? facts.default : draft.builtin;
  const known = facts.builtin.map((rule) => rule.name).filter((name) => chosen.includes(name));
  const unknown = chosen.filter((name) => !known.includes(name));
  return {
    builtin: [...known, ...unknown],
    custom: draft.inherit ? [] : draft.custom.map(({ name, pattern }) => ({ name: name.trim(), pattern })),
  };
}

/** Whether a draft says something else than what is held. */
export function isChanged(draft: Draft, held: Rules | null | undefined, facts: Facts): boolean {
  return JSON.stringify(rulesOf(draft, facts)) !== JSON.stringify(rulesOf(draftOf(held, facts), facts));
}

/** Turns one built-in rule on or off. */
export function withBuiltin(draft: Draft, name: string, on: boolean): Draft {
  const others = draft.builtin.filter((other) => other !== name);
  return { ...draft, builtin: on ? [...others, name] : others };
}

/** "2 marks: email 1, card 1", or that there are none. */
export function countsText(counts: Record<string, number>): string {
  const found = Object.entries(counts);
  const sum = found.reduce((n, [, count]) => n + count, 0);
  if (sum === 0) {
    return "Nothing is taken out.";
  }
  const each = found.map(([name, count]) => `${name} ${count}`).join(", ");
  return `${sum} taken out: ${each}.`;
}
