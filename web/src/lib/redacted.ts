/** Part of stored text: plain, or the mark of a redaction rule. */
export interface RedactedPart {
  text: string;
  /** Name of the rule, for a mark. */
  rule?: string;
}

const mark = /\[redacted: ([A-Za-z][A-Za-z0-9 _-]{0,39})\]/g;

/** Splits stored text at the marks of redaction rules. */
export function splitRedacted(text: string): RedactedPart[] {
  const parts: RedactedPart[] = [];
  let at = 0;
  for (const found of text.matchAll(mark)) {
    if (found.index > at) {
      parts.push({ text: text.slice(at, found.index) });
    }
    parts.push({ text: found[0], rule: found[1] });
    at = found.index + found[0].length;
  }
  if (at < text.length) {
    parts.push({ text: text.slice(at) });
  }
  return parts;
}
