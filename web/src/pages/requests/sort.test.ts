import { expect, it } from "vitest";

import { chosenColumns, defaultColumns } from "./columns";
import { sortedLimit, sortNote, sortOf, sortParameter } from "./sort";

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
