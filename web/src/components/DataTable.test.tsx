import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";

import { renderWithTheme } from "../lib/testRender";
import { type Column, DataTable } from "./DataTable";

interface Row {
  name: string;
  cost: number | null;
}

const rows: Row[] = [
  { name: "b", cost: 2 },
  { name: "a", cost: null },
  { name: "c", cost: 7 },
];

const columns: Column<Row>[] = [
  { id: "name", label: "Name", render: (row) => row.name, sort: (row) => row.name },
  { id: "cost", label: "Cost", numeric: true, render: (row) => row.cost ?? "—", sort: (row) => row.cost },
  { id: "menu", label: "", render: () => null },
];

const desktop = window.matchMedia;

afterEach(() => {
  window.matchMedia = desktop;
});

function show(onOpen?: (row: Row, asPage: boolean) => void, selected?: string) {
  renderWithTheme(
    <DataTable
      label="Models"
      rows={rows}
      columns={columns}
      rowKey={(row) => row.name}
      phone={(row) => ({ top: `top ${row.name}`, bottom: `bottom ${row.name}` })}
      onOpen={onOpen}
      selected={selected}
    />,
  );
}

const names = () =>
  screen
    .getAllByRole("row")
    .slice(1)
    .map((row) => row.firstElementChild?.textContent);

it("sorts by a heading, reverses and restores the order", async () => {
  show();
  const heading = () => screen.getByRole("columnheader", { name: "Cost" });
  for (const [sort, order] of [
    ["descending", ["c", "b", "a"]],
    ["ascending", ["b", "c", "a"]],
    [null, ["b", "a", "c"]],
  ] as const) {
    await userEvent.click(screen.getByRole("button", { name: "Cost" }));
    expect(names()).toEqual(order);
    expect(heading().getAttribute("aria-sort")).toBe(sort);
  }
});

it("names a column without a label for screen readers and does not sort it", () => {
  show();
  const heading = screen.getByRole("columnheader", { name: "menu" });
  expect(heading.querySelector("button")).toBeNull();
});

it("opens a row as a page with Ctrl", async () => {
  const open = vi.fn();
  show(open);
  const user = userEvent.setup();
  await user.keyboard("{Control>}");
  await user.click(screen.getByText("a"));
  await user.keyboard("{/Control}");
  expect(open).toHaveBeenCalledWith(rows[1], true);
});

it("does not open a row at the end of a text selection", async () => {
  const open = vi.fn();
  show(open);
  vi.spyOn(window, "getSelection").mockReturnValue({ toString: () => "a" } as Selection);
  await userEvent.click(screen.getByText("a"));
  expect(open).not.toHaveBeenCalled();
});

it("starts keyboard navigation at the selected row and stays inside the table", async () => {
  show(vi.fn(), "a");
  await userEvent.keyboard("j");
  expect(document.activeElement?.textContent).toContain("c");
  await userEvent.keyboard("j");
  expect(document.activeElement?.textContent).toContain("c");
  await userEvent.keyboard("kkkk");
  expect(document.activeElement?.textContent).toContain("b");
});

it("shows two lines per row on narrow screens", async () => {
  window.matchMedia = (query) => ({ ...desktop(query), matches: true });
  const open = vi.fn();
  show(open);
  expect(screen.queryByRole("table")).toBeNull();
  expect(screen.getAllByRole("listitem").map((item) => item.textContent)).toEqual([
    "top bbottom b",
    "top abottom a",
    "top cbottom c",
  ]);
  await userEvent.click(screen.getByText("top a"));
  expect(open).toHaveBeenCalledWith(rows[1], false);
});
