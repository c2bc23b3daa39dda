/** A piece of a text: as it was, or a mark that a redaction rule left. */
export interface Piece {
  text: string;
  /** The rule, of a mark. */
  rule?: string;
}

const mark = /\[redacted: ([A-Za-z][A-Za-z0-9 _-]{0,39})\]/g;

/** Parts a stored text at the marks of redaction rules. */
export function redactedPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(mark)) {
    if (found.index > at) {
      pieces.push({ text: text.slice(at, found.index) });
    }
    pieces.push({ text: found[0], rule: found[1] });
    at = found.index + found[0].length;
  }
  if (at < text.length) {
    pieces.push({ text: text.slice(at) });
  }
  return pieces;
}
