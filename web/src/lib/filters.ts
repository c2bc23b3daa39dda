// Request filters are plain parameters with the same names in the URL, the admin API and the command line.

/** The filter names, in the order of their chips. */
export const filterNames = [
  "preset",
  "decision",
  "outcome",
  "status",
  "model",
  "requested",
  "provider",
  "policy",
  "key",
  "tag",
  "session",
  "user",
  "stream",
  "simulated",
  "source",
  "unpriced",
  "min_cost",
  "max_cost",
  "min_latency",
  "max_latency",
  "min_saved",
  "max_saved",
  "q",
] as const;

/** Name of a request filter. */
export type FilterName = (typeof filterNames)[number];

/** Active filters, name to value, as in the URL. Several values are joined by commas. */
export type Filters = Partial<Record<FilterName, string>>;

/** Query parameters of a URL. */
export type Search = Record<string, string | undefined>;

/** Filters that accept several values, joined by commas. */
export const listNames: ReadonlySet<FilterName> = new Set<FilterName>([
  "decision",
  "outcome",
  "status",
  "model",
  "requested",
  "provider",
  "policy",
  "key",
  "tag",
  "session",
  "user",
]);

/** Display name of each filter. */
export const filterLabels: Record<FilterName, string> = {
  preset: "preset",
  decision: "decision",
  outcome: "outcome",
  status: "status",
  model: "model",
  requested: "requested",
  provider: "provider",
  policy: "policy",
  key: "key",
  tag: "tag",
  session: "session",
  user: "user",
  stream: "stream",
  simulated: "simulated",
  source: "source",
  unpriced: "unpriced",
  min_cost: "cost ≥",
  max_cost: "cost ≤",
  min_latency: "latency ≥",
  max_latency: "latency ≤",
  min_saved: "saved ≥",
  max_saved: "saved ≤",
  q: "search",
};

/** Extracts the filters from query parameters and ignores other parameters. */
export function filtersOf(search: Search): Filters {
  const filters: Filters = {};
  for (const name of filterNames) {
    const value = search[name];
    if (value) {
      filters[name] = value;
    }
  }
  return filters;
}

/** Splits a list of values at commas. A backslash escapes the next character. */
export function splitList(text: string | undefined): string[] {
  const values: string[] = [];
  let current = "";
  for (let i = 0; i < (text ?? "").length; i++) {
    const c = (text ?? "")[i];
    if (c === "\\") {
      current += (text ?? "")[++i] ?? c; // a trailing backslash is literal
    } else if (c === ",") {
      values.push(current);
      current = "";
    } else {
      current += c;
    }
  }
  return [...values, current].filter((v) => v !== "");
}

/** Joins values into a list that splitList reads. */
export function joinList(values: string[]): string | undefined {
  return values.length === 0 ? undefined : values.map((v) => v.replace(/[\\,]/g, (c) => "\\" + c)).join(",");
}

/** The values to show as chips, in order. */
export function chipsOf(filters: Filters): { name: FilterName; value: string }[] {
  return filterNames.flatMap((name) => {
    const value = filters[name];
    if (!value) {
      return [];
    }
    return listNames.has(name) ? splitList(value).map((v) => ({ name, value: v })) : [{ name, value }];
  });
}

/** The filters without one value. */
export function without(filters: Filters, name: FilterName, value: string): Filters {
  const rest = listNames.has(name)
    ? joinList(splitList(filters[name]).filter((v) => v !== value))
    : undefined;
  return { ...filters, [name]: rest };
}

/** Search parameters that clear every filter and keep the rest. */
export function cleared(): Filters {
  return Object.fromEntries(filterNames.map((name) => [name, undefined]));
}

/** The command that lists the same requests on the command line. */
export function cliCommand(filters: Filters, range: { from?: string; to?: string }): string {
  const flags = Object.entries({ ...range, ...filters })
    .filter((entry): entry is [string, string] => Boolean(entry[1]))
    .map(([name, value]) => `--${name.replaceAll("_", "-")}=${shellQuote(value)}`);
  return ["fairlead requests list", ...flags].join(" ");
}

/** Quotes text for a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
