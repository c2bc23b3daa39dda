// Conditions are CEL expressions. Simple conditions can be described in words; other conditions are shown as CEL.

/** A part of a sentence; values are emphasised. */
export type Part = string | { value: string };

/** Describes a condition in words, to follow "If"; undefined for a complex condition. */
export function conditionWords(cel: string): Part[] | undefined {
  const tokens = tokensOf(cel);
  if (!tokens || tokens.length === 0) {
    return undefined;
  }
  const reader = new Reader(tokens);
  const parts = reader.either();
  return parts && reader.done ? parts : undefined;
}

/** Joins the parts to plain text. */
export function plainText(parts: Part[]): string {
  return parts.map((part) => (typeof part === "string" ? part : part.value)).join("");
}

interface Token {
  kind: "name" | "text" | "number" | "sign";
  value: string;
}

const pattern =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(&&|\|\||==|!=|<=|>=|[<>!()[\],.]))/y;

function tokensOf(cel: string): Token[] | undefined {
  const tokens: Token[] = [];
  const text = cel.trim();
  pattern.lastIndex = 0;
  while (pattern.lastIndex < text.length) {
    const [, quoted, number, name, sign] = pattern.exec(text) ?? [];
    if (quoted !== undefined) {
      tokens.push({ kind: "text", value: quoted.slice(1, -1).replace(/\\(.)/g, "$1") });
    } else if (number !== undefined) {
      tokens.push({ kind: "number", value: number });
    } else if (name !== undefined) {
      tokens.push({ kind: "name", value: name });
    } else if (sign !== undefined) {
      tokens.push({ kind: "sign", value: sign });
    } else {
      return undefined;
    }
  }
  return tokens;
}

const comparisons: Record<string, string> = {
  "==": " is ",
  "!=": " is not ",
  "<": " < ",
  "<=": " ≤ ",
  ">": " > ",
  ">=": " ≥ ",
};

/** A parser for simple conditions. Its methods return undefined for anything else. */
class Reader {
  private at = 0;

  constructor(private readonly tokens: Token[]) {}

  get done(): boolean {
    return this.at === this.tokens.length;
  }

  private take(value: string): boolean {
    const token = this.tokens[this.at];
    if (token?.kind === "sign" && token.value === value) {
      this.at++;
      return true;
    }
    return false;
  }

  private next(kind: Token["kind"]): string | undefined {
    const token = this.tokens[this.at];
    if (token?.kind !== kind) {
      return undefined;
    }
    this.at++;
    return token.value;
  }

  /** Parses terms joined by "or". If a term contains "and", the terms are separated by commas. */
  either(): Part[] | undefined {
    const all: { words: Part[]; several: boolean }[] = [];
    do {
      const start = this.at;
      const words = this.both();
      if (!words) {
        return undefined;
      }
      all.push({ words, several: this.tokens.slice(start, this.at).some((t) => t.value === "&&") });
    } while (this.take("||"));
    const glue = all.some((one) => one.several) ? ", or " : " or ";
    return joined(
      all.map((one) => one.words),
      glue,
    );
  }

  private both(): Part[] | undefined {
    const all: Part[][] = [];
    do {
      const words = this.single();
      if (!words) {
        return undefined;
      }
      all.push(words);
    } while (this.take("&&"));
    return joined(all, " and ");
  }

  private single(): Part[] | undefined {
    if (this.take("(")) {
      const inner = this.either();
      return inner && this.take(")") ? ["(", ...inner, ")"] : undefined;
    }
    const not = this.take("!");
    const token = this.tokens[this.at];
    if (token?.kind === "text") {
      return not ? undefined : this.entry();
    }
    const field = this.field();
    if (!field) {
      return undefined;
    }
    if (field.present) {
      return [field.words, not ? " is not set" : " is set"];
    }
    return not ? flagWords(field.name, false) : this.comparison(field);
  }

  /** "team" in key.tags */
  private entry(): Part[] | undefined {
    const name = this.next("text") ?? "";
    const field = this.next("name") === "in" ? this.field() : undefined;
    const map = field && mapWords[field.name];
    return map ? [`${map} ${name} is set`] : undefined;
  }

  private comparison(field: Field): Part[] | undefined {
    const sign = this.tokens[this.at];
    if (sign?.kind === "name" && sign.value === "in") {
      this.at++;
      const values = this.list();
      return (
        values && [field.words, " is ", ...joined(values.map((value) => [{ value }]) as Part[][], " or ")]
      );
    }
    const words = sign?.kind === "sign" ? comparisons[sign.value] : undefined;
    if (!words) {
      return flagWords(field.name, true);
    }
    this.at++;
    const value = this.value();
    if (value === undefined) {
      return undefined;
    }
    if (value === "true" || value === "false") {
      const equal = sign?.value === "==" || sign?.value === "!=";
      return equal ? flagWords(field.name, (value === "true") === (sign.value === "==")) : undefined;
    }
    return [field.words, words, { value: value === "" ? "empty" : value }];
  }

  private value(): string | undefined {
    const number = this.next("number");
    if (number !== undefined) {
      return Number(number).toLocaleString("en-US");
    }
    const text = this.next("text");
    if (text !== undefined) {
      return text;
    }
    const word = this.tokens[this.at];
    return word?.kind === "name" && /^(true|false)$/.test(word.value) ? this.next("name") : undefined;
  }

  private list(): string[] | undefined {
    if (!this.take("[")) {
      return undefined;
    }
    const values: string[] = [];
    do {
      const value = this.value();
      if (value === undefined) {
        return undefined;
      }
      values.push(value);
    } while (this.take(","));
    return this.take("]") ? values : undefined;
  }

  /** request.task, key.tags["team"], key.tags.team, has(key.tags.team), time.hour("Europe/Berlin") */
  private field(): Field | undefined {
    const first = this.next("name");
    if (first === "has" && this.take("(")) {
      const inner = this.field();
      return inner && this.take(")") ? { ...inner, present: true } : undefined;
    }
    if (!first || !this.take(".")) {
      return undefined;
    }
    const second = this.next("name");
    const name = `${first}.${second}`;
    const map = mapWords[name];
    if (map) {
      const entry = this.entryName();
      return entry === undefined
        ? { name, words: map }
        : { name: `${name}.${entry}`, words: `${map} ${entry}` };
    }
    const words = fieldWords[name] ?? (name in flags ? name : undefined);
    if (words && first === "time" && this.take("(")) {
      const zone = this.next("text");
      return zone !== undefined && this.take(")") ? { name, words: `${words} in ${zone}` } : undefined;
    }
    return words === undefined ? undefined : { name, words };
  }

  private entryName(): string | undefined {
    if (this.take(".")) {
      return this.next("name");
    }
    if (!this.take("[")) {
      return undefined;
    }
    const entry = this.next("text");
    return this.take("]") ? entry : undefined;
  }
}

interface Field {
  name: string;
  words: string;
  /** Whether the condition tests for presence: has(). */
  present?: boolean;
}

function joined(lists: Part[][], glue: string): Part[] {
  return lists.flatMap((list, i) => (i === 0 ? list : [glue, ...list]));
}

const mapWords: Record<string, string> = {
  "key.tags": "key tag",
  "request.tags": "tag",
  "request.metadata": "metadata",
};

const fieldWords: Record<string, string> = {
  "request.model": "requested model",
  "request.op": "operation",
  "request.format": "format",
  "request.source": "source",
  "request.task": "task",
  "request.language": "language",
  "request.tokens": "tokens",
  "request.max_output": "max output",
  "request.messages": "messages",
  "request.images": "images",
  "request.choices": "choices",
  "request.objective": "objective",
  "request.end_user": "end user",
  "request.session": "session",
  "key.id": "key id",
  "key.name": "key",
  "workspace.id": "workspace id",
  "workspace.name": "workspace",
  "time.hour": "hour",
  "time.weekday": "weekday",
  "time.date": "date",
};

// Boolean fields, with the text for true and false.
const flags: Record<string, [yes: string, no: string]> = {
  "request.auto": ["the model is auto", "a model is named"],
  "request.stream": ["streaming is on", "streaming is off"],
  "request.tools": ["tools are included", "no tools are included"],
  "request.vision": ["images are included", "no images are included"],
  "request.audio": ["audio is included", "no audio is included"],
  "request.files": ["files are attached", "no files are attached"],
  "request.json": ["JSON output is required", "JSON output is not required"],
  "request.reasoning": ["reasoning is requested", "no reasoning is requested"],
};

function flagWords(name: string, yes: boolean): Part[] | undefined {
  const words = flags[name];
  return words && [yes ? words[0] : words[1]];
}
