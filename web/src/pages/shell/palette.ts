import type { Schema } from "../../api/client";
import type { IconName } from "../../components/Icon";
import type { Destination } from "../../lib/search";

/** An entry of the command palette. It opens a page, a document, or runs an action. */
export interface Command {
  value: string;
  label: string;
  icon: IconName;
  /** A second line. */
  detail?: string;
  to?: Destination;
  href?: string;
  run?: () => void;
}

/** Entries of one kind. */
export interface CommandGroup {
  name: string;
  commands: Command[];
}

/** A page of the documentation. */
export interface DocsPage {
  title: string;
  href: string;
}

/** The number of entries that a group shows. */
const maxShown = 5;

/** Reports whether text contains every word of the input, ignoring case. */
export function contains(text: string, input: string): boolean {
  const lower = text.toLowerCase();
  return input
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** The first commands that match the input. */
export function chosen(commands: Command[], input: string, limit = maxShown): Command[] {
  const found: Command[] = [];
  for (const command of commands) {
    if (contains(`${command.label} ${command.detail ?? ""}`, input)) {
      found.push(command);
      if (found.length === limit) {
        break;
      }
    }
  }
  return found;
}

/** The documentation pages in the index for language models: one Markdown link per line. */
export function parseDocs(index: string): DocsPage[] {
  const pages: DocsPage[] = [];
  for (const match of index.matchAll(/^- \[([^\]]+)\]\((\/docs[^)\s]*)\)/gm)) {
    pages.push({ title: match[1] ?? "", href: (match[2] ?? "").replace(/\.md(?=#|$)/, "") });
  }
  return pages;
}

export const keyCommand = (key: Schema["KeyView"]): Command => ({
  value: `key ${key.id}`,
  label: key.name,
  icon: "key",
  detail: `Requests with this key, ${key.id}`,
  to: { to: "/requests", search: { key: key.id } },
});

export const modelCommand = (model: Schema["ModelView"]): Command => ({
  value: `model ${model.name}`,
  label: model.name,
  icon: "cpu",
  to: { to: "/routing/models", search: { q: model.name, kind: model.kind } },
});

export const policyCommand = (policy: Schema["Policy"]): Command => ({
  value: `policy ${policy.name}`,
  label: policy.name,
  icon: "route",
  to: { to: "/routing/policies" },
});

export const sessionCommand = (session: Schema["SessionSummary"]): Command => ({
  value: `session ${session.id}`,
  label: session.id,
  icon: "layers",
  detail: session.preview || undefined,
  to: { to: "/sessions/$id", params: { id: session.id } },
});

export const docsCommand = (page: DocsPage): Command => ({
  value: `docs ${page.href}`,
  label: page.title,
  icon: "book",
  href: page.href,
});
