import {
  Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  Scalar,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

import type { Policy } from "../../api/routing";

// The form edits hand-written YAML. Only the lines of a changed field are rewritten: comments, blank lines, the order of
// fields and the quoting of everything else stay the same.

type Field = Pair<Node, Node | null>;
type Fields = YAMLMap<Node, Node | null>;
type Items = YAMLSeq<Node>;
type Values = Record<string, unknown>;

/** The order in which the gateway writes the fields of a policy. A new field is inserted after its predecessors. */
const order = [
  "name",
  "description",
  "enabled",
  "when",
  "deny",
  "pin",
  "allow",
  "exclude",
  "prefer",
  "objective",
  "max_cost_usd",
  "max_output_tokens",
  "max_escalation",
  "session_budget",
  "baseline",
  "response_cache",
  "cache_marks",
  "log_bodies",
];

/** Fields that are strings in the API and numbers in YAML. */
const numeric = ["max_cost_usd", "objective"];

/**
 * Applies a change of the form to the text. Policies that are the same object before and after keep their text. Returns
 * undefined if the text does not contain the policies of `before`, which can happen while the text is being edited.
 */
export function editDocument(source: string, before: Policy[], after: Policy[]): string | undefined {
  const doc = parse(source);
  const list = isMap(doc.contents) ? doc.get("policies") : undefined;
  const written = isSeq(list) ? (list.toJS(doc) as (Policy | null)[]) : [];
  if (
    doc.errors.length > 0 ||
    (doc.contents !== null && !isMap(doc.contents)) ||
    written.length !== before.length ||
    written.some((policy, i) => policy?.name !== before[i]?.name)
  ) {
    return undefined;
  }
  const wanted = after.map(withoutEmpty);
  const origin = originsOf(before, after);
  const editor = new Editor(source, doc);
  const edited =
    after.length === before.length && origin.every((at, i) => at === i)
      ? editor.setFields(list as Items, wanted)
      : editor.arrange(origin, wanted);
  return edited !== undefined && parsesTo(edited, wanted) ? edited : rewrite(doc, origin, wanted);
}

function parse(source: string): Document {
  return parseDocument(source, { keepSourceTokens: true });
}

/** For each policy of `after`, the index that it had in `before`, or undefined if it is new. */
function originsOf(before: Policy[], after: Policy[]): (number | undefined)[] {
  return after.map((policy, i) => {
    const at = before.indexOf(policy);
    const replaced = before.length === after.length && !after.includes(before[i] as Policy);
    return at >= 0 ? at : replaced ? i : undefined;
  });
}

/** Removes empty fields, which the form shows and the YAML omits. */
function withoutEmpty(policy: Policy): Values {
  const fields = Object.entries(policy).map(([name, value]) => {
    const isSelector = name === "allow" || name === "exclude";
    return [name, isSelector ? filled(Object.entries(value as object)) : value] as [string, unknown];
  });
  return { name: policy.name, ...filled(fields) };
}

function filled(fields: [string, unknown][]): Values {
  const isFilled = (value: unknown) =>
    value !== undefined &&
    value !== "" &&
    !(typeof value === "object" && Object.keys(value ?? {}).length === 0);
  return Object.fromEntries(fields.filter(([, value]) => isFilled(value)));
}

/** Reports whether the YAML parses to the wanted policies. */
function parsesTo(source: string, wanted: Values[]): boolean {
  const doc = parse(source);
  return doc.errors.length === 0 && equal((doc.toJS() as { policies?: unknown } | null)?.policies, wanted);
}

/** Rewrites the whole document, for YAML that cannot be edited line by line. Comments and quoting stay. */
function rewrite(doc: Document, origin: (number | undefined)[], wanted: Values[]): string {
  const list = doc.get("policies");
  const items = isSeq(list) ? [...list.items] : [];
  const next = wanted.map((policy, i) => {
    const item = items[origin[i] ?? -1];
    if (!isMap(item)) {
      return doc.createNode(policy);
    }
    for (const name of Object.keys(item.toJS(doc) as object)) {
      if (!(name in policy)) {
        item.delete(name);
      }
    }
    for (const [name, value] of Object.entries(policy)) {
      if (!equal((item.toJS(doc) as Values)[name], value)) {
        item.set(name, doc.createNode(value));
      }
    }
    return item;
  });
  if (isSeq(list)) {
    list.items = next;
  } else {
    doc.set("policies", doc.createNode(wanted));
  }
  return doc.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** Compares values. A number equals its string form, because the API has some numbers as strings. */
function equal(a: unknown, b: unknown): boolean {
  if (typeof a === "object" && typeof b === "object" && a !== null && b !== null) {
    const names = Object.keys(a);
    return (
      Array.isArray(a) === Array.isArray(b) &&
      names.length === Object.keys(b).length &&
      names.every((name) => equal((a as Values)[name], (b as Values)[name]))
    );
  }
  return a === b || (typeof a === "number" && typeof b === "string" && b !== "" && a === Number(b));
}

interface Splice {
  from: number;
  to: number;
  text: string;
}

class Editor {
  constructor(
    private readonly source: string,
    private readonly doc: Document,
  ) {}

  /** Changes the fields of policies without moving them. */
  setFields(list: Items, wanted: Values[]): string | undefined {
    const splices = list.items.map((item, i) => this.change(item, wanted[i], ""));
    const changes = splices.every((s) => s !== undefined) ? splices.flat() : undefined;
    return changes
      ?.sort((a, b) => b.from - a.from)
      .reduce((text, { from, to, text: put }) => text.slice(0, from) + put + text.slice(to), this.source);
  }

  /** Adds, removes and moves policies. */
  arrange(origin: (number | undefined)[], wanted: Values[]): string | undefined {
    const list = isMap(this.doc.contents) ? this.doc.get("policies") : undefined;
    if (this.doc.contents === null) {
      const above = this.source === "" || this.source.endsWith("\n") ? this.source : `${this.source}\n`;
      return `${above}policies:\n${indent(stringifyItems(wanted), 2)}`;
    }
    if (isSeq(list) && list.flow && list.items.length === 0) {
      const [from, to] = list.range ?? [0, 0];
      const end = this.lineEnd(to);
      const tail = `${this.source.slice(to, end).trimEnd()}\n`;
      const items = indent(stringifyItems(wanted), 2);
      return this.source.slice(0, from).trimEnd() + tail + items + this.source.slice(end);
    }
    if (!isBlock(list) || !isSeq(list)) {
      return undefined;
    }
    const blocks = this.blocksOf(list as Items);
    const [from, to] = [blocks[0]?.from ?? 0, blocks.at(-1)?.to ?? 0];
    if (wanted.length === 0) {
      const colon = this.source.lastIndexOf(":", list.range?.[0]) + 1;
      return `${this.source.slice(0, colon)} []${this.source.slice(colon, from)}${this.source.slice(to)}`;
    }
    const column = this.columnOf(startOf(list as Items, 0));
    const gaps = blocks.slice(1).map((block, i) => this.source.slice(blocks[i]?.to, block.from));
    const texts = wanted.map((policy, i) => {
      const block = blocks[origin[i] ?? -1];
      const text = block ? this.source.slice(block.from, block.to) : indent(stringifyItems([policy]), column);
      return text.endsWith("\n") ? text : `${text}\n`;
    });
    const joined = texts.map((text, i) => (i === 0 ? text : (gaps[i - 1] ?? gaps.at(-1) ?? "") + text));
    return this.source.slice(0, from) + joined.join("") + this.source.slice(to);
  }

  /** Returns the splices that change the value of a node, or undefined if splices cannot express the change. */
  private change(node: Node | null, wanted: unknown, field: string): Splice[] | undefined {
    if (node && equal(node.toJS(this.doc), wanted)) {
      return [];
    }
    if (isMap(node) && isBlock(node) && isObject(wanted)) {
      return this.changeMap(node as Fields, wanted);
    }
    if (isSeq(node) && isBlock(node) && Array.isArray(wanted)) {
      return this.changeSeq(node as Items, wanted);
    }
    if (!node?.range || isBlock(node)) {
      return undefined;
    }
    const [from, to] = node.range;
    return [{ from, to, text: this.replacement(node, wanted, field) }];
  }

  /** Changes, removes and adds fields of a map with one field per line. */
  private changeMap(map: Fields, wanted: Values): Splice[] | undefined {
    const names = map.items.map((pair) => nameOf(pair));
    const blocks = this.blocksOf(map);
    const splices: Splice[] = [];
    for (const [i, pair] of map.items.entries()) {
      const name = names[i] ?? "";
      const changes = name in wanted ? this.change(pair.value, wanted[name], name) : [this.removal(map, i)];
      if (!changes) {
        return undefined;
      }
      splices.push(...changes);
    }
    const column = this.columnOf(startOf(map, 0));
    for (const [name, value] of Object.entries(wanted).filter(([name]) => !names.includes(name))) {
      const earlier = order.slice(0, order.indexOf(name));
      const at = names.findLastIndex((n) => earlier.includes(n) && n in wanted);
      const block = blocks[at < 0 ? blocks.length - 1 : at];
      if (!block) {
        return undefined;
      }
      splices.push(this.insertion(block.to, indent(stringifyField(name, value), column)));
    }
    return inOrder(splices);
  }

  /** Removes and adds items of a list with one item per line. */
  private changeSeq(seq: Items, wanted: unknown[]): Splice[] | undefined {
    const values = seq.items.map((item) => item.toJS(this.doc) as unknown);
    const kept = values.filter((value) => wanted.some((w) => equal(value, w)));
    const added = wanted.slice(kept.length);
    const last = this.blocksOf(seq).at(-1);
    if (kept.length === 0 || !last || !equal(kept, wanted.slice(0, kept.length))) {
      return undefined;
    }
    const column = this.columnOf(startOf(seq, 0));
    const removed = values.flatMap((value, i) =>
      wanted.some((w) => equal(value, w)) ? [] : [this.removal(seq, i)],
    );
    return added.length === 0
      ? removed
      : [...removed, this.insertion(last.to, indent(stringifyItems(added), column))];
  }

  private insertion(at: number, text: string): Splice {
    const isOpen = at > 0 && this.source[at - 1] !== "\n"; // the last line does not end in a newline
    return { from: at, to: at, text: isOpen ? `\n${text.trimEnd()}` : text };
  }

  /** Removes a child with its comments. The first child may be on the same line as the dash of the enclosing list. */
  private removal(node: Fields | Items, index: number): Splice {
    const block = this.blocksOf(node)[index] as { from: number; to: number };
    const start = startOf(node, index);
    const own = this.lineStart(start);
    const next = node.items.length > index + 1 ? startOf(node, index + 1) : undefined;
    if (this.source.slice(own, start).trim() === "" || next === undefined) {
      return { ...block, text: "" };
    }
    const gap = this.source.slice(block.to, next);
    return { from: start, to: block.to + gap.length - gap.trimStart().length, text: "" };
  }

  /** The text of a new value in the style of the previous value. */
  private replacement(node: Node, wanted: unknown, field: string): string {
    const [from, to] = node.range ?? [0, 0];
    const text = this.source.slice(from, to);
    const options = { lineWidth: 0, flowCollectionPadding: /^[[{]\s/.test(text) };
    const newline = text.endsWith("\n") ? "\n" : "";
    if (isCollection(node) && isObject(wanted)) {
      const written = stringify(this.changedFlow(node as Fields | Items, wanted), options).trimEnd();
      return written.replace(/\n(?=.)/g, `\n${" ".repeat(this.indentAt(from) + 2)}`) + newline;
    }
    if (isScalar(node) && typeof wanted === "string" && !numeric.includes(field)) {
      const scalar = new Scalar(wanted);
      const isLines = node.type === Scalar.BLOCK_FOLDED || node.type === Scalar.BLOCK_LITERAL;
      scalar.type = isLines && !wanted.includes("\n") ? undefined : node.type;
      const written = stringifyField("x", scalar).slice("x: ".length).trimEnd();
      return written.replace(/\n(?=.)/g, `\n${" ".repeat(this.indentAt(from))}`) + newline;
    }
    return stringifyField(field, wanted).slice(`${field}: `.length).trimEnd() + newline;
  }

  /**
   * A copy of a collection in brackets with the wanted children. Children that stay keep their quoting and comments.
   */
  private changedFlow(node: Fields | Items, wanted: Values | unknown[]): Node {
    const copy = node.clone() as Fields | Items;
    // The parser joins two comments: the comment after the last child, and the comment after the closing bracket. The
    // second one is not replaced.
    const behind = /^[ \t]*#/.test(this.source.slice(node.range?.[1])) ? -1 : undefined;
    const inside = copy.comment?.split("\n").slice(0, behind).join("\n");
    const last = isSeq(copy) ? copy.items.at(-1) : copy.items.at(-1)?.value;
    copy.comment = undefined;
    if (last && inside) {
      last.comment = inside;
    }
    if (isSeq(copy)) {
      const free = [...copy.items];
      copy.items = Object.values(wanted).map((value) => {
        const at = free.findIndex((item) => equal(item.toJS(this.doc), value));
        return at < 0 ? inFlow(value) : (free.splice(at, 1)[0] as Node);
      });
      return copy;
    }
    copy.items = copy.items.filter((pair) => nameOf(pair) in wanted);
    for (const [name, value] of Object.entries(wanted)) {
      const pair = copy.items.find((p) => nameOf(p) === name);
      const list = pair?.value;
      if (list && !equal(list.toJS(this.doc), value)) {
        pair.value =
          isSeq(list) && Array.isArray(value) ? this.changedFlow(list as Items, value) : inFlow(value);
      } else if (!pair) {
        copy.items.push(this.doc.createPair(name, inFlow(value)) as Field);
      }
    }
    return copy;
  }

  /** The lines of each child of a block collection, from its leading comments to its last line. */
  private blocksOf(node: Fields | Items): { from: number; to: number }[] {
    const column = this.columnOf(startOf(node, 0));
    let end = 0;
    return node.items.map((child, i) => {
      const from = this.withComments(startOf(node, i), end, column);
      end = this.lineEnd(lastOffset(child));
      for (let next = this.commentEnd(end, column); next > end; next = this.commentEnd(end, column)) {
        end = next;
      }
      return { from, to: end };
    });
  }

  /**
   * The start of the comment lines directly above a child. Comments with a deeper indentation belong to the previous
   * child.
   */
  private withComments(start: number, limit: number, column: number): number {
    let from = this.lineStart(start);
    while (from > limit) {
      const above = this.lineStart(from - 1);
      const line = this.source.slice(above, from);
      if (above < limit || !/^\s*#/.test(line) || line.search(/\S/) > column) {
        break;
      }
      from = above;
    }
    return from;
  }

  /** The end of a comment line at an offset that is indented deeper than a column; the offset if there is none. */
  private commentEnd(at: number, column: number): number {
    const end = this.lineEnd(at);
    const line = this.source.slice(at, end);
    return /^\s*#/.test(line) && line.search(/\S/) > column ? end : at;
  }

  private lineStart(offset: number): number {
    return this.source.lastIndexOf("\n", offset - 1) + 1;
  }

  private lineEnd(offset: number): number {
    const at = this.source.indexOf("\n", offset);
    return at < 0 ? this.source.length : at + 1;
  }

  private columnOf(offset: number): number {
    return offset - this.lineStart(offset);
  }

  /** The column of the first key on the line of an offset, after dashes. */
  private indentAt(offset: number): number {
    const start = this.lineStart(offset);
    return /^[\s-]*/.exec(this.source.slice(start, offset))?.[0].length ?? 0;
  }
}

/** Splices at the same offset are applied from the last to the first. */
function inOrder(splices: Splice[]): Splice[] {
  return splices
    .map((s, i) => ({ s, i }))
    .sort((a, b) => a.s.from - b.s.from || b.i - a.i)
    .map(({ s }) => s);
}

function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null;
}

/** Reports whether a node is a block collection. */
function isBlock(node: unknown): boolean {
  return isCollection(node) && !node.flow;
}

function nameOf(pair: Field): string {
  return isScalar(pair.key) ? String(pair.key.value) : "";
}

/** Where a child of a block collection begins: its dash or its key. */
function startOf(node: Fields | Items, index: number): number {
  if (isMap(node)) {
    return node.items[index]?.key.range?.[0] ?? 0;
  }
  const token = node.srcToken;
  const item = token && "items" in token ? token.items[index] : undefined;
  return item?.start.find(({ type }) => type === "seq-item-ind")?.offset ?? 0;
}

/** The last character of a child that is not a comment or white space. */
function lastOffset(child: Node | Field | null): number {
  if (child && "key" in child) {
    return Math.max(child.key.range?.[1] ?? 0, child.value ? lastOffset(child.value) : 0);
  }
  if (isBlock(child)) {
    return lastOffset((child as Fields | Items).items.at(-1) ?? null);
  }
  const [, end] = child?.range ?? [0, 0];
  return isScalar(child) && (child.type === "BLOCK_FOLDED" || child.type === "BLOCK_LITERAL") ? end - 1 : end;
}

function inFlow(value: unknown): Node {
  return new Document().createNode(value, { flow: true });
}

/** One field, with lists and selectors in brackets. */
function stringifyField(name: string, value: unknown): string {
  if (numeric.includes(name) && typeof value === "string" && /^\d*\.?\d*$/.test(value)) {
    return `${name}: ${value}\n`;
  }
  const node = isObject(value) && !isScalar(value) ? inFlow(value) : value;
  return stringify({ [name]: node }, { lineWidth: 0, flowCollectionPadding: false });
}

/** Items of a list, one for each value. */
function stringifyItems(values: unknown[]): string {
  return values
    .map((value) => {
      const text = isObject(value)
        ? Object.entries(value)
            .sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
            .map(([name, field]) => stringifyField(name, field))
            .join("")
        : stringify(value, { lineWidth: 0 });
      return `- ${indent(text, 2).trimStart()}`;
    })
    .join("");
}

function indent(text: string, columns: number): string {
  return text.replace(/^(?=.)/gm, " ".repeat(columns));
}
