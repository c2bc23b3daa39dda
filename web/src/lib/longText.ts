// Browsers lay out long text without spaces slowly: at every line break they shape the rest of the run again, which takes
// a minute for 100 KB. Adding break opportunities keeps runs short.

const maxRun = 512;
const maxMarks = 500;

/** Splits text so that no part has more than 512 characters without white space. */
export function splitRuns(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let run = 0;
  for (let i = 0; i < text.length; i++) {
    if (run >= maxRun && !isJoined(text, i)) {
      parts.push(text.slice(from, i));
      from = i;
      run = 0;
    }
    run = isSpace(text.charCodeAt(i)) ? 0 : run + 1;
  }
  return [...parts, text.slice(from)];
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

/** Reports whether the character at an index belongs to the same grapheme as the one before it. */
function isJoined(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  const isLowSurrogate = code >= 0xdc00 && code <= 0xdfff;
  return isLowSurrogate || /^[\p{M}\u200d]/u.test(text.slice(at, at + 2)) || text[at - 1] === "\u200d";
}

/** Returns where highlighting stops: after 500 matches, because a page with 100,000 marks becomes unresponsive. */
export function markedEnd(text: string, search: string): number {
  const [lower, word] = [text.toLowerCase(), search.trim().toLowerCase()];
  let at = 0;
  for (let marks = 0; word !== "" && marks < maxMarks; marks++) {
    const found = lower.indexOf(word, at);
    if (found < 0) {
      return text.length;
    }
    at = found + word.length;
  }
  return word === "" ? text.length : at;
}
