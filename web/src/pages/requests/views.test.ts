import { expect, it } from "vitest";

import type { SavedView } from "../../api/views";
import { chosenColumns, defaultColumns } from "./columns";
import { type Sort, sortedLimit, sortNote, sortOf, sortParameter } from "./sort";
import { differs, searchOf, settingsOf } from "./views";

const view: SavedView = {
  id: "view_1",
  name: "Slow",
  page: "requests",
  filters: { from: "now-7d", min_latency: "2s" },
  columns: [],
  sort: "latency",
  created_by: "acc_1",
  created_at: "2026-11-17T12:00:00Z",
};

const selection = {
  filters: { min_latency: "2s" },
  range: { from: "now-7d" },
  sort: "latency" as Sort,
  columns: defaultColumns,
};

it("saves filters, range, order and columns", () => {
  expect(settingsOf("Slow", selection)).toEqual({
    name: "Slow",
    filters: { from: "now-7d", min_latency: "2s" },
    columns: [],
    sort: "latency",
  });
  expect(settingsOf("Slow", { ...selection, columns: ["cost", "cost", "unknown"] }).columns).toEqual([
    "request",
    "cost",
  ]);
});

it("shows a view without the filters that were active before", () => {
  const search = searchOf(view);
  expect(search).toMatchObject({ from: "now-7d", min_latency: "2s", sort: "latency", view: "view_1" });
  expect("model" in search && search["model"]).toBeUndefined();
});

it("reports whether a view was changed", () => {
  expect(differs(view, selection)).toBe(false);
  for (const change of [
    { filters: { min_latency: "3s" } },
    { filters: { min_latency: "2s", model: "a" } },
    { range: { from: "now-1h" } },
    { sort: "time" as Sort },
    { columns: ["time"] },
  ]) {
    expect(differs(view, { ...selection, ...change })).toBe(true);
  }
  // A view without a range shows the default range.
  expect(
    differs(
      { ...view, filters: {}, sort: "time" },
      { ...selection, filters: {}, range: { from: "now-24h" }, sort: "time" },
    ),
  ).toBe(false);
});

it("always includes the prompt, which contains the link of a row", () => {
  expect(chosenColumns(["cost"]).map(({ id }) => id)).toEqual(["request", "cost"]);
  expect(chosenColumns(["cost", "request"]).map(({ id }) => id)).toEqual(["cost", "request"]);
  expect(chosenColumns(["from an older version"]).map(({ id }) => id)).toEqual(defaultColumns);
});

it("derives the order from the URL or the preset", () => {
  expect(sortOf({}, {})).toBe("time");
  expect(sortOf({ sort: "cost" }, {})).toBe("cost");
  expect(sortOf({ sort: "colour" }, {})).toBe("time");
  expect(sortOf({}, { preset: "slowest" })).toBe("latency");
  expect(sortOf({ sort: "time" }, { preset: "slowest" })).toBe("time");
  expect(sortParameter("time", {})).toBeUndefined();
  expect(sortParameter("time", { preset: "slowest" })).toBe("time");
  expect(sortParameter("cost", {})).toBe("cost");
});

it("describes which requests a sorted list shows", () => {
  expect(sortNote("time", 50)).toBeUndefined();
  expect(sortNote("cost", 3)).toBe("Sorted by cost: most expensive first.");
  expect(sortNote("latency", sortedLimit)).toBe("The 200 slowest requests in this time range.");
});
