// Filters of requests are plain parameters with the same names in the address, the admin API and the command line.

/** The names, in the order in which chips show them. */
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

/** A name that requests can be filtered by. */
export type FilterName = (typeof filterNames)[number];

/** What is filtered by: name to value, as in the address. Several values are joined by commas. */
export type Filters = Partial<Record<FilterName, string>>;

/** The parameters of an address. */
export type Search = Record<string, string | undefined>;

/** Names that have several values joined by commas. */
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

/** What people read for a name. */
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
  source: "sent by",
  unpriced: "unpriced",
  min_cost: "cost ≥",
  max_cost: "cost ≤",
  min_latency: "latency ≥",
  max_latency: "latency ≤",
  min_saved: "saved ≥",
  max_saved: "saved ≤",
  q: "text",
};

/** The filters in the parameters of an address; what is no filter is left out. */
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

/** Splits a list of values; a backslash makes the next character ordinary. */
export function splitList(text: string | undefined): string[] {
  const values: string[] = [];
  let current = "";
  for (let i = 0; i < (text ?? "").length; i++) {
    const c = (text ?? "")[i];
    if (c === "\\") {
      current += (text ?? "")[++i] ?? c; // at the end it stands for itself
    } else if (c === ",") {
      values.push(current);
      current = "";
    } else {
      current += c;
    }
  }
  return [...values, current].filter((v) => v !== "");
}

/** Joins values the way splitList reads them. */
export function joinList(values: string[]): string | undefined {
  return values.length === 0 ? undefined : values.map((v) => v.replace(/[\\,]/g, (c) => "\\" + c)).join(",");
}

/** The single values that chips show, in order. */
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

/** The parameters for "every filter cleared": filters become undefined, everything else stays. */
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

/** Quotes text so that a shell takes it literally. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
