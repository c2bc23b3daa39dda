/** Sort column and direction of a table. */
export interface Order {
  column: string;
  direction: "ascending" | "descending";
}

interface Sortable<R> {
  id: string;
  numeric?: boolean;
  sort?: (row: R) => number | string | null | undefined;
}

/** The order after a click on a heading. Numbers start descending, words ascending; the third click removes the order. */
export function nextOrder<R>(column: Sortable<R>, order: Order | undefined): Order | undefined {
  const first = column.numeric ? "descending" : "ascending";
  const second = column.numeric ? "ascending" : "descending";
  if (order?.column !== column.id) {
    return { column: column.id, direction: first };
  }
  return order.direction === first ? { column: column.id, direction: second } : undefined;
}

/** Sorts rows. The sort is stable, and unknown values come last. */
export function sorted<R>(rows: R[], columns: Sortable<R>[], order: Order | undefined): R[] {
  const by = columns.find((column) => column.id === order?.column)?.sort;
  if (!by) {
    return rows;
  }
  const sign = order?.direction === "ascending" ? 1 : -1;
  return rows
    .map((row) => ({ row, value: by(row) }))
    .sort((a, b) => {
      if (a.value == null || b.value == null) {
        return Number(a.value == null) - Number(b.value == null);
      }
      return sign * compare(a.value, b.value);
    })
    .map(({ row }) => row);
}

function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true, sensitivity: "base" });
}
