import type { Schema } from "../../api/client";
import type { Policy, PolicyInput } from "../../api/routing";
import { editDocument } from "./document";

/** What a draft starts from: the newest version. */
type Held = Pick<Schema["WorkspacePolicies"], "source" | "policies" | "version">;

/**
 * A draft is one document that text and form both edit. An edit of the form changes the text immediately; an edit of the
 * text changes the form when the gateway has checked it.
 */
export interface Draft {
  source: string;
  /** As the form shows them: the last ones that the text could be read as, or what the form has changed since. */
  policies: Policy[];
  /** The side that was edited last. */
  by: "text" | "form";
  /** Counts edits, so that an answer to an earlier one is not taken for one to the last. */
  edit: number;
  /** What the gateway says about the last edit; undefined until it has answered. */
  check?: Schema["PolicyCheck"];
  /** What is in force, to tell whether there is anything to save. */
  held: string;
  basedOn: number;
}

/** What happens to a draft. */
export type Action =
  | { type: "text"; source: string }
  | { type: "form"; policies: Policy[] }
  | { type: "checked"; edit: number; check: Schema["PolicyCheck"] }
  | { type: "reset"; held: Held }
  | { type: "rebase"; version: number };

/** Begins with what is in force. */
export function draftOf(held: Held, edit = 0): Draft {
  return {
    source: held.source,
    policies: held.policies,
    by: "text",
    edit,
    held: held.source,
    basedOn: held.version,
  };
}

/** The draft after something happened to it. */
export function reduce(draft: Draft, action: Action): Draft {
  switch (action.type) {
    case "text":
      return { ...draft, source: action.source, by: "text", edit: draft.edit + 1, check: undefined };
    case "form":
      return formEdited(draft, action.policies);
    case "checked":
      return action.edit === draft.edit ? checked(draft, action.check) : draft;
    case "reset":
      return draftOf(action.held, draft.edit + 1);
    case "rebase":
      return { ...draft, basedOn: action.version };
  }
}

/** Applies an edit of the form to the text. While the text has other policies than the form, the edit is dropped. */
function formEdited(draft: Draft, policies: Policy[]): Draft {
  const source = editDocument(draft.source, draft.policies, policies);
  if (source === undefined) {
    return draft;
  }
  return { ...draft, source, policies, by: "form", edit: draft.edit + 1, check: undefined };
}

/** Takes the policies of a text that was edited and is valid. The form keeps its fields that are not filled in yet. */
function checked(draft: Draft, check: Schema["PolicyCheck"]): Draft {
  return { ...draft, check, policies: draft.by === "text" && check.ok ? check.policies : draft.policies };
}

/** The document to check. */
export function writtenBy(draft: Draft): PolicyInput {
  return { source: draft.source };
}

/** Whether the gateway could read what is written: an amount that is half typed is no number. */
export function isReadable(draft: Draft): boolean {
  return (
    draft.by === "text" ||
    draft.policies.every((p) => p.max_cost_usd === undefined || isAmount(p.max_cost_usd))
  );
}

/** Whether a text is an amount of dollars above nought. */
export function isAmount(text: string | undefined): boolean {
  return text !== undefined && /^\d{0,9}(\.\d{1,9})?$/.test(text) && Number(text) > 0;
}

/** Whether there is something to save. */
export function isDirty(draft: Draft): boolean {
  return draft.source !== draft.held;
}

/** Whether the draft could be saved now. */
export function isReady(draft: Draft): boolean {
  return isDirty(draft) && draft.check?.ok === true;
}

/** Whether the form stands for the text: not while the text has problems, or is not read yet. */
export function formFollows(draft: Draft): boolean {
  return draft.by === "form" || draft.check?.ok !== false;
}

/** The list with one item somewhere else. */
export function moved<T>(list: T[], from: number, to: number): T[] {
  const item = list[from];
  if (item === undefined || to < 0 || to >= list.length) {
    return list;
  }
  const rest = list.filter((_, i) => i !== from);
  return [...rest.slice(0, to), item, ...rest.slice(to)];
}

/** What is wrong with each field of one policy, by the field's name. */
export function problemsAt(
  problems: Schema["PolicyProblem"][] | undefined,
  index: number,
): Record<string, string> {
  const path = `policies[${index}]`;
  const found: Record<string, string> = {};
  for (const problem of problems ?? []) {
    if (problem.path === path || problem.path.startsWith(`${path}.`)) {
      const field = problem.path.slice(path.length + 1).split(/[.[]/)[0] ?? "";
      found[field] ??= problem.hint ? `${problem.message} – ${problem.hint}` : problem.message;
    }
  }
  return found;
}
