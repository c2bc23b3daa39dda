/** A part of a text comparison. */
export interface DiffPart {
  kind: "same" | "removed" | "added";
  text: string;
}

// The search for the shortest difference takes time proportional to the length times the number of differences, so it
// stops at this number. The rest is shown as one replacement.
const maxEdits = 800;
// Longer text is compared line by line.
const maxWords = 20_000;

/** Compares two strings word by word. The parts of kind "same" and "removed" form the first string, "same" and "added" the second. */
export function wordDiff(a: string, b: string): DiffPart[] {
  let [before, after] = [wordsOf(a), wordsOf(b)];
  if (before.length > maxWords || after.length > maxWords) {
    [before, after] = [linesOf(a), linesOf(b)];
  }
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) {
    start++;
  }
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end++;
  }
  return joined([
    ...before.slice(0, start).map((text) => ({ kind: "same" as const, text })),
    ...editsOf(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map((text) => ({ kind: "same" as const, text })),
  ]);
}

function wordsOf(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** Finds the shortest list of edits (Myers 1986). */
function editsOf(a: string[], b: string[]): DiffPart[] {
  const replaced = (): DiffPart[] => [
    ...a.map((text) => ({ kind: "removed" as const, text })),
    ...b.map((text) => ({ kind: "added" as const, text })),
  ];
  if (a.length === 0 || b.length === 0) {
    return replaced();
  }
  const limit = Math.min(a.length + b.length, maxEdits);
  const trace: Map<number, number>[] = [];
  const reach = new Map<number, number>([[1, 0]]);
  for (let edits = 0; edits <= limit; edits++) {
    trace.push(new Map(reach));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = down ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && x - k >= 0 && a[x] === b[x - k]) {
        x++;
      }
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) {
        return walkBack(a, b, trace);
      }
    }
  }
  return replaced();
}

/** Follows the edits from the end to the start. */
function walkBack(a: string[], b: string[], trace: Map<number, number>[]): DiffPart[] {
  const parts: DiffPart[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits] ?? new Map<number, number>();
    const k = x - y;
    const down = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const startX = reach.get(from) ?? 0;
    const startY = startX - from;
    while (x > startX && y > startY && x > 0 && y > 0) {
      parts.push({ kind: "same", text: a[--x] ?? "" });
      y--;
    }
    if (edits > 0) {
      parts.push(down ? { kind: "added", text: b[--y] ?? "" } : { kind: "removed", text: a[--x] ?? "" });
    }
  }
  return parts.reverse();
}

/** Joins neighbouring parts of one kind. */
function joined(parts: DiffPart[]): DiffPart[] {
  const out: DiffPart[] = [];
  for (const part of parts) {
    const last = out.at(-1);
    if (last?.kind === part.kind) {
      last.text += part.text;
    } else {
      out.push({ ...part });
    }
  }
  return out;
}

/** The share of words that are the same in both strings, from 0 to 1. */
export function similarity(parts: DiffPart[]): number {
  const size = (kind: DiffPart["kind"]) =>
    parts.reduce((sum, part) => sum + (part.kind === kind ? part.text.trim().length : 0), 0);
  const same = 2 * size("same");
  const all = same + size("removed") + size("added");
  return all === 0 ? 1 : same / all;
}
