import type { Schema } from "../../api/client";
import type { SavedView } from "../../api/views";
import { cleared, type Filters, filtersOf, type Search } from "../../lib/filters";
import type { Range } from "../../lib/range";
import { rangeOf } from "../../lib/range";
import { chosenColumns, defaultColumns } from "./columns";
import { type Sort, sortParameter } from "./sort";

/** What a view selects: filters, time range, order and columns. */
export interface Selection {
  filters: Filters;
  range: Range;
  sort: Sort;
  columns: string[];
}

/** The settings that save a selection under a name. Default columns are saved as an empty list. */
export function settingsOf(
  name: string,
  { filters, range, sort, columns }: Selection,
): Schema["ViewSettings"] {
  const entries = Object.entries({ ...filters, ...range }).filter((entry): entry is [string, string] =>
    Boolean(entry[1]),
  );
  const ids = chosenColumns(columns).map(({ id }) => id);
  return {
    name,
    filters: Object.fromEntries(entries),
    columns: ids.join() === defaultColumns.join() ? [] : ids,
    sort,
  };
}

/** The URL parameters that show a view. */
export function searchOf(view: SavedView): Search {
  const filters = filtersOf(view.filters);
  return {
    ...cleared(),
    ...filters,
    from: view.filters["from"],
    to: view.filters["to"],
    sort: sortParameter(view.sort, filters),
    view: view.id,
    id: undefined,
  };
}

/** Reports whether a selection differs from a view. */
export function differs(view: SavedView, selection: Selection): boolean {
  const saved = settingsOf(view.name, {
    filters: filtersOf(view.filters),
    range: rangeOf(view.filters),
    sort: view.sort,
    columns: view.columns,
  });
  return canonical(saved) !== canonical(settingsOf(view.name, selection));
}

function canonical(settings: Schema["ViewSettings"]): string {
  const filters = Object.entries(settings.filters ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([filters, settings.columns, settings.sort]);
}
