import { filterDefinitions } from "../api/filters";

// Request filters are plain parameters with the same names in the URL, the admin API and the command line.

/** Name of a request filter. */
export type FilterName = (typeof filterDefinitions)[number]["name"];

/** The filter names, in the order of their chips. */
export const filterNames: readonly FilterName[] = filterDefinitions.map(({ name }) => name);

/** Active filters, name to value, as in the URL. Several values are joined by commas. */
export type Filters = Partial<Record<FilterName, string>>;

/** Query parameters of a URL. */
export type Search = Record<string, string | undefined>;

/** Filters that accept several values, joined by commas. */
export const listNames: ReadonlySet<FilterName> = new Set<FilterName>(
  filterDefinitions.filter(({ list }) => list).map(({ name }) => name),
);

/** Display name of each filter. */
export const filterLabels = Object.fromEntries(
  filterDefinitions.map(({ name, label }) => [name, label]),
) as Record<FilterName, string>;

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
