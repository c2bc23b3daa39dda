import { expect, test } from "vitest";

import { nextOrder, type Order, sorted } from "./order";

interface Row {
  name: string;
  cost: number | null;
}

const rows: Row[] = [
  { name: "b2", cost: 2 },
  { name: "a", cost: null },
  { name: "b10", cost: 7 },
];
const columns = [
  { id: "name", sort: (row: Row) => row.name },
  { id: "cost", numeric: true, sort: (row: Row) => row.cost },
  { id: "menu" },
];
const names = (order: Order | undefined) => sorted(rows, columns, order).map((row) => row.name);

test("rows keep their order until a sortable heading is clicked", () => {
  expect(names(undefined)).toEqual(["b2", "a", "b10"]);
  expect(names({ column: "menu", direction: "ascending" })).toEqual(["b2", "a", "b10"]);
});

test("numbers in names sort by value, and unknown values come last", () => {
  expect(names({ column: "name", direction: "ascending" })).toEqual(["a", "b2", "b10"]);
  expect(names({ column: "cost", direction: "descending" })).toEqual(["b10", "b2", "a"]);
  expect(names({ column: "cost", direction: "ascending" })).toEqual(["b2", "b10", "a"]);
});

test("three clicks sort, reverse and unsort", () => {
  const cost = columns[1] ?? { id: "" };
  const first = nextOrder(cost, undefined);
  const second = nextOrder(cost, first);
  expect([first, second, nextOrder(cost, second)]).toEqual([
    { column: "cost", direction: "descending" },
    { column: "cost", direction: "ascending" },
    undefined,
  ]);
  expect(nextOrder({ id: "name" }, first)).toEqual({ column: "name", direction: "ascending" });
});
