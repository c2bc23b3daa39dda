import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";

import type { Schema } from "../api/client";
import type { Filters } from "../lib/filters";
import { renderWithTheme } from "../lib/testRender";
import { FilterBar } from "./FilterBar";

const facets: Schema["Facets"] = {
  decision: [],
  outcome: [],
  provider: [],
  policy: [],
  key: [{ value: "key_1", label: "ci", count: 3 }],
  model: Array.from({ length: 9 }, (_, i) => ({ value: `m${i}`, label: `model-${i}`, count: i })),
};

function show(filters: Filters, more: Partial<Parameters<typeof FilterBar>[0]> = {}) {
  const props = { onChange: vi.fn(), onClear: vi.fn() };
  renderWithTheme(
    <FilterBar filters={filters} facets={facets} names={["model", "key"]} {...props} {...more} />,
  );
  return props;
}

describe("chips", () => {
  it("show the labels of values", () => {
    show({ key: "key_1", model: "gone", session: "s1" }, { labels: { session: { s1: "nightly" } } });
    const chips = within(screen.getByRole("group", { name: "Active filters" }));
    expect(chips.getByText("key: ci")).toBeTruthy();
    expect(chips.getByText("model: gone")).toBeTruthy();
    expect(chips.getByText("session: nightly")).toBeTruthy();
  });

  it("are absent without filters and cleared together", async () => {
    show({});
    expect(screen.queryByRole("group", { name: "Active filters" })).toBeNull();
    const { onClear } = show({ model: "m1" });
    await userEvent.click(screen.getByRole("button", { name: "Clear filters" }));
    expect(onClear).toHaveBeenCalledOnce();
  });
});

describe("a facet menu", () => {
  it("counts the chosen values and adds another one", async () => {
    const { onChange } = show({ model: "m1" });
    await userEvent.click(screen.getByRole("button", { name: "model · 1" }));
    await userEvent.click(await screen.findByRole("checkbox", { name: /model-2/ }));
    expect(onChange).toHaveBeenCalledWith({ model: "m1,m2" });
  });

  it("offers chosen values that are not listed, so that they can be removed", async () => {
    const { onChange } = show({ key: "key_gone" });
    await userEvent.click(screen.getByRole("button", { name: "key · 1" }));
    await userEvent.click(await screen.findByRole("checkbox", { name: "key_gone" }));
    expect(onChange).toHaveBeenCalledWith({ key: undefined });
  });

  it("can be searched when it is long", async () => {
    show({});
    await userEvent.click(screen.getByRole("button", { name: "key" }));
    expect(screen.queryByRole("textbox", { name: "Search key" })).toBeNull();
    await userEvent.keyboard("{Escape}");
    await userEvent.click(screen.getByRole("button", { name: "model" }));
    const search = await screen.findByRole("textbox", { name: "Search model" });
    await userEvent.type(search, "MODEL-7");
    expect(screen.getAllByRole("checkbox")).toHaveLength(1);
    await userEvent.type(search, "x");
    expect(screen.getByText("No results")).toBeTruthy();
  });

  it("explains an empty list", async () => {
    show({}, { names: ["provider"] });
    await userEvent.click(screen.getByRole("button", { name: "provider" }));
    expect(await screen.findByText("No values in this time range")).toBeTruthy();
  });
});
