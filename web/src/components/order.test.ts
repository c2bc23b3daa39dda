import { expect, test } from "vitest";

import { type Order, sorted, turned } from "./order";

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

test("rows stay as they are until a heading is clicked", () => {
  expect(names(undefined)).toEqual(["b2", "a", "b10"]);
  expect(names({ column: "menu", way: "up" })).toEqual(["b2", "a", "b10"]);
});

test("words are sorted as people count, and what is unknown comes last either way", () => {
  expect(names({ column: "name", way: "up" })).toEqual(["a", "b2", "b10"]);
  expect(names({ column: "cost", way: "down" })).toEqual(["b10", "b2", "a"]);
  expect(names({ column: "cost", way: "up" })).toEqual(["b2", "b10", "a"]);
});

test("three clicks turn an order, turn it around and end it", () => {
  const cost = columns[1] ?? { id: "" };
  const first = turned(cost, undefined);
  const second = turned(cost, first);
  expect([first, second, turned(cost, second)]).toEqual([
    { column: "cost", way: "down" },
    { column: "cost", way: "up" },
    undefined,
  ]);
  expect(turned({ id: "name" }, first)).toEqual({ column: "name", way: "up" });
});
