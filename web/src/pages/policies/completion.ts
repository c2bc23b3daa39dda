import type { Schema } from "../../api/client";
import { effects } from "./effects";

/** A suggestion of the editor. */
export interface Suggestion {
  label: string;
  detail?: string;
  /** The inserted text, if it differs from the label. */
  apply?: string;
}

/** The completions at a position, and the start of the word that they replace. */
export interface Suggestions {
  from: number;
  list: Suggestion[];
}

const fields: Suggestion[] = [
  { label: "name", detail: "Unique name", apply: "name: " },
  { label: "description", detail: "Purpose of the policy", apply: "description: " },
  { label: "enabled", detail: "false disables the policy", apply: "enabled: " },
  { label: "when", detail: "Condition (CEL)", apply: "when: " },
  ...effects.map(({ name, label }) => ({ label: name, detail: label, apply: `${name}: ` })),
];

const selector: Suggestion[] = ["models", "providers", "tags"].map((label) => ({
  label,
  apply: `${label}: [`,
}));

/** Suggests completions for a line up to the cursor. The lines above determine the enclosing field. */
export function suggest(
  line: string,
  above: string[],
  policySet: Pick<Schema["PolicyBook"], "fields" | "names">,
): Suggestions | undefined {
  const { key, rest } = split(line);
  if (key === undefined) {
    const word = /[\w]*$/.exec(line)?.[0] ?? "";
    const before = line.slice(0, line.length - word.length);
    return /^\s*(- )?$/.test(before) ? { from: before.length, list: keysBelow(above, before) } : undefined;
  }
  if (key === "when") {
    return condition(line, rest, policySet.fields);
  }
  return names(line, key, rest, policySet.names);
}

/** Splits a line into its field and the text after the colon. */
function split(line: string): { key?: string; rest: string } {
  const match = /^\s*(?:- )?([\w]+):\s?(.*)$/.exec(line);
  return match ? { key: match[1], rest: match[2] ?? "" } : { rest: line };
}

/** The keys that can follow: those of a selector inside allow and exclude, otherwise those of a policy. */
function keysBelow(above: string[], before: string): Suggestion[] {
  const indent = before.length;
  for (const line of [...above].reverse()) {
    const found = /^(\s*(?:- )?)([\w]+):/.exec(line);
    if (found && (found[1] ?? "").length < indent) {
      return found[2] === "allow" || found[2] === "exclude" ? selector : fields;
    }
  }
  return before.trim() === "" && indent === 0
    ? [{ label: "policies", apply: "policies:\n  - name: " }]
    : fields;
}

function condition(line: string, rest: string, known: Schema["PolicyField"][]): Suggestions | undefined {
  const compared = /([\w.]+)\s*(?:==|!=|in\s*\[(?:[^\]]*,)?)\s*"(\w*)$/.exec(rest);
  if (compared) {
    const values = known.find((field) => field.name === compared[1])?.values ?? [];
    return { from: line.length - (compared[2] ?? "").length, list: values.map((label) => ({ label })) };
  }
  const word = /[\w.]*$/.exec(rest)?.[0] ?? "";
  if ((rest.slice(0, rest.length - word.length).match(/"/g) ?? []).length % 2 === 1) {
    return undefined; // inside a string
  }
  return {
    from: line.length - word.length,
    list: known.map(({ name, doc }) => ({ label: name, detail: doc })),
  };
}

function names(
  line: string,
  key: string,
  rest: string,
  known: Schema["PolicyNames"],
): Suggestions | undefined {
  const word = /[\w./:-]*\*?$/.exec(rest)?.[0] ?? "";
  const from = line.length - word.length;
  const list = (labels: string[], detail?: string) => ({
    from,
    list: labels.map((label) => ({ label, detail })),
  });
  // The innermost open list of a flow mapping such as {models: [a, b], tags: [.
  const inner = key === "allow" || key === "exclude" ? /(\w+):\s*\[[^\]]*$/.exec(rest)?.[1] : key;
  switch (inner) {
    case "pin":
    case "prefer":
    case "models":
      return { from, list: [...list(known.models, "model").list, ...list(known.targets, "target").list] };
    case "baseline":
      return list(known.models, "model");
    case "providers":
      return list(known.providers, "provider");
    case "tags":
      return list(known.tags, "tag");
    case "objective":
      return list(["cost", "quality", "speed"]);
    case "enabled":
      return list(["true", "false"]);
    case "response_cache":
      return list(["10m", "1h", "24h", "off"]);
    case "cache_marks":
    case "log_bodies":
      return list(["false"]);
    case undefined:
      return { from, list: selector };
    default:
      return undefined;
  }
}
