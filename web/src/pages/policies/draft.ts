import type { Schema } from "../../api/client";
import type { Policy, PolicyInput } from "../../api/routing";
import { editDocument } from "./document";

/** The saved version that a draft is based on. */
type SavedVersion = Pick<Schema["WorkspacePolicies"], "source" | "policies" | "version">;

/**
 * A draft is one document that the YAML editor and the form both edit. An edit in the form changes the YAML immediately;
 * an edit of the YAML changes the form after the gateway has checked it.
 */
export interface Draft {
  source: string;
  /** The policies in the form: those of the last valid YAML, with later changes in the form. */
  policies: Policy[];
  /** The editor that was used last: the YAML editor or the form. */
  by: "yaml" | "form";
  /** Number of edits, to ignore the check of an earlier edit. */
  edit: number;
  /** Result of checking the last edit; undefined while it is pending. */
  check?: Schema["PolicyCheck"];
  /** YAML of the saved version, to detect unsaved changes. */
  saved: string;
  basedOn: number;
}

/** Actions on a draft. */
export type Action =
  | { type: "yaml"; source: string }
  | { type: "form"; policies: Policy[] }
  | { type: "checked"; edit: number; check: Schema["PolicyCheck"] }
  | { type: "reset"; saved: SavedVersion }
  | { type: "rebase"; version: number };

/** Creates a draft of the saved version. */
export function draftOf(saved: SavedVersion, edit = 0): Draft {
  return {
    source: saved.source,
    policies: saved.policies,
    by: "yaml",
    edit,
    saved: saved.source,
    basedOn: saved.version,
  };
}

/** Reducer of a draft. */
export function reduce(draft: Draft, action: Action): Draft {
  switch (action.type) {
    case "yaml":
      return { ...draft, source: action.source, by: "yaml", edit: draft.edit + 1, check: undefined };
    case "form":
      return formEdited(draft, action.policies);
    case "checked":
      return action.edit === draft.edit ? checked(draft, action.check) : draft;
    case "reset":
      return draftOf(action.saved, draft.edit + 1);
    case "rebase":
      return { ...draft, basedOn: action.version };
  }
}

/** Applies an edit in the form to the YAML. The edit is dropped while the policies of the YAML and the form differ. */
function formEdited(draft: Draft, policies: Policy[]): Draft {
  const source = editDocument(draft.source, draft.policies, policies);
  if (source === undefined) {
    return draft;
  }
  return { ...draft, source, policies, by: "form", edit: draft.edit + 1, check: undefined };
}

/**
 * Stores a check. After an edit of the YAML, the form gets the policies of a successful check; otherwise the form
 * keeps its empty fields.
 */
function checked(draft: Draft, check: Schema["PolicyCheck"]): Draft {
  return { ...draft, check, policies: draft.by === "yaml" && check.ok ? check.policies : draft.policies };
}

/** The document to check. */
export function inputOf(draft: Draft): PolicyInput {
  return { source: draft.source };
}

/** Reports whether the draft can be checked. A draft with an incomplete amount in the form cannot be checked. */
export function isCheckable(draft: Draft): boolean {
  return (
    draft.by === "yaml" ||
    draft.policies.every((p) => p.max_cost_usd === undefined || isAmount(p.max_cost_usd))
  );
}

/** Reports whether text is a positive amount of dollars. */
export function isAmount(text: string | undefined): boolean {
  return text !== undefined && /^\d{0,9}(\.\d{1,9})?$/.test(text) && Number(text) > 0;
}

/** Reports whether there are unsaved changes. */
export function isDirty(draft: Draft): boolean {
  return draft.source !== draft.saved;
}

/** Reports whether the draft can be saved. */
export function isReady(draft: Draft): boolean {
  return isDirty(draft) && draft.check?.ok === true;
}

/** Reports whether the form matches the YAML. The form does not match while the YAML has errors. */
export function isFormCurrent(draft: Draft): boolean {
  return draft.by === "form" || draft.check?.ok !== false;
}

/** Moves an item of a list. */
export function moved<T>(list: T[], from: number, to: number): T[] {
  const item = list[from];
  if (item === undefined || to < 0 || to >= list.length) {
    return list;
  }
  const rest = list.filter((_, i) => i !== from);
  return [...rest.slice(0, to), item, ...rest.slice(to)];
}

/** Messages of the problems of one policy, by field name. */
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
