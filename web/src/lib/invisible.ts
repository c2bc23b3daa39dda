// Invisible characters can hide instructions in a prompt or reverse the order of displayed text.

const names: Record<number, string> = {
  0x00ad: "soft hyphen",
  0x061c: "Arabic letter mark",
  0x180e: "Mongolian vowel separator",
  0x200b: "zero-width space",
  0x200c: "zero-width non-joiner",
  0x200d: "zero-width joiner",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x2028: "line separator",
  0x2029: "paragraph separator",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "end of embedding",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "end of isolate",
  0x3164: "Hangul filler",
  0xfeff: "byte order mark",
};

// Control characters except tab and line breaks, format characters, fillers, and tag characters.
const invisible =
  // eslint-disable-next-line no-control-regex -- these are the characters to find
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

const maxMarks = 500;

/** A part of text: visible text, or one run of the same invisible character. */
export type VisiblePart = { text: string } | { text: string; code: string; name: string };

/** Splits text at invisible characters. Joiners that a script or an emoji needs are not split off. */
export function splitInvisible(text: string): VisiblePart[] {
  const parts: VisiblePart[] = [];
  let at = 0;
  let marks = 0;
  for (const found of text.matchAll(invisible)) {
    if (found.index < at || isJoiner(text, found.index, found[0])) {
      continue;
    }
    if (marks++ >= maxMarks) {
      break;
    }
    if (found.index > at) {
      parts.push({ text: text.slice(at, found.index) });
    }
    const [character] = found;
    let end = found.index + character.length;
    while (text.startsWith(character, end)) {
      end += character.length;
    }
    const times = (end - found.index) / character.length;
    const code = character.codePointAt(0) ?? 0;
    const hex = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    parts.push({
      text: text.slice(found.index, end),
      code: times > 1 ? `${hex} ×${times}` : hex,
      name: names[code] ?? (code >= 0xe0000 ? "tag character" : "control or format character"),
    });
    at = end;
  }
  if (at < text.length) {
    parts.push({ text: text.slice(at) });
  }
  return parts;
}

/** Counts the invisible characters in text, at most 500 runs of them. */
export function countInvisible(text: string): number {
  return splitInvisible(text).reduce((sum, part) => sum + ("code" in part ? 1 : 0), 0);
}

// Scripts that need joiners between letters.
const joining =
  "Arabic Syriac Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Mongolian"
    .split(" ")
    .map((script) => `\\p{Script=${script}}`)
    .join("|");
const joinable = new RegExp(`(${joining})$`, "u");
const pictograph = /(\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)$/u;

/** Reports whether a joiner belongs to the character before it: emoji sequences, and scripts that use joiners. */
function isJoiner(text: string, at: number, character: string): boolean {
  const before = text.slice(Math.max(0, at - 2), at);
  switch (character) {
    case "\u200d":
      return pictograph.test(before) || joinable.test(before);
    case "\u200c":
      return joinable.test(before);
    default:
      return false;
  }
}
