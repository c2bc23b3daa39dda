import { describe, expect, it } from "vitest";

import { compareReleases, releaseOf, releasesBetween } from "./changelog";

const text = `# Changelog

## Unreleased

- Not released yet.

## 0.10.0 (2026-12-01)

### Dashboard

- One font on every machine,
  in every browser.
- Charts show \`percent\`.

## 0.9.1

- A fix.

## 0.9.0

No lines.
`;

it.each([
  ["0.2.0", "0.2.0"],
  ["v0.2.0", "0.2.0"],
  ["v0.2.0-3-gabc1234", "0.2.0"],
  ["0.2.0+build", "0.2.0"],
  ["5fab321", undefined],
  ["dev", undefined],
  ["0.2.0.1", undefined],
])("finds the release of %s", (version, release) => expect(releaseOf(version)).toBe(release));

it("orders releases by number", () => {
  expect(["0.10.0", "0.9.1", "1.0.0", "0.9.0"].sort(compareReleases)).toEqual([
    "0.9.0",
    "0.9.1",
    "0.10.0",
    "1.0.0",
  ]);
});

describe("releasesBetween", () => {
  it("joins the lines of each release", () => {
    expect(releasesBetween(text, "0.9.0", "0.10.0")).toEqual([
      {
        version: "0.10.0",
        changes: ["One font on every machine, in every browser.", "Charts show `percent`."],
      },
      { version: "0.9.1", changes: ["A fix."] },
    ]);
  });

  it("excludes earlier and later releases", () => {
    expect(releasesBetween(text, "0.9.1", "0.9.1")).toEqual([]);
    expect(releasesBetween(text, "0.8.0", "0.9.1").map((r) => r.version)).toEqual(["0.9.1"]);
  });
});
