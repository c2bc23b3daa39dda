/** By which column a table is sorted, and which way. */
export interface Order {
  column: string;
  way: "up" | "down";
}

interface Sortable<R> {
  id: string;
  numeric?: boolean;
  sort?: (row: R) => number | string | null | undefined;
}

/** The order after a click on a heading: numbers start with the largest, words with A; the third click ends it. */
export function turned<R>(column: Sortable<R>, order: Order | undefined): Order | undefined {
  const first = column.numeric ? "down" : "up";
  if (order?.column !== column.id) {
    return { column: column.id, way: first };
  }
  return order.way === first ? { column: column.id, way: first === "up" ? "down" : "up" } : undefined;
}

/** The rows in an order. Rows that are alike stay as they were, and what is unknown comes last. */
export function sorted<R>(rows: R[], columns: Sortable<R>[], order: Order | undefined): R[] {
  const by = columns.find((column) => column.id === order?.column)?.sort;
  if (!by) {
    return rows;
  }
  const sign = order?.way === "up" ? 1 : -1;
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
