/** A part of JSON text: a key, a string, another value, or white space and punctuation. */
export interface JsonPart {
  kind: "key" | "string" | "literal" | "space";
  text: string;
}

// Longer text is not coloured, because every part is an element.
const maxColoured = 20_000;

/** Formats JSON with line breaks; undefined if the text is not an object or a list. */
export function prettyJson(text: string): string | undefined {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) {
    return undefined;
  }
  try {
    return JSON.stringify(JSON.parse(trimmed), null, 2);
  } catch {
    return undefined;
  }
}

/** Splits JSON, or text that resembles JSON, into parts. */
export function splitJson(text: string): JsonPart[] {
  if (text.length > maxColoured) {
    return [{ kind: "literal", text }];
  }
  const parts: JsonPart[] = [];
  let at = 0;
  for (const found of text.matchAll(/"(?:[^"\\\n]|\\.)*"|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g)) {
    if (found.index > at) {
      parts.push({ kind: "space", text: text.slice(at, found.index) });
    }
    const [value] = found;
    at = found.index + value.length;
    const key = value.startsWith('"') && /^\s*:/.test(text.slice(at, at + 20));
    parts.push({ kind: key ? "key" : value.startsWith('"') ? "string" : "literal", text: value });
  }
  if (at < text.length) {
    parts.push({ kind: "space", text: text.slice(at) });
  }
  return parts;
}
