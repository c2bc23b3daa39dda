import { describe, expect, it } from "vitest";

import { chosen, contains, parseDocs } from "./palette";

describe("palette", () => {
  it("matches every word, ignoring case", () => {
    expect(contains("Weekly Errors view", "errors week")).toBe(true);
    expect(contains("Weekly Errors view", "errors month")).toBe(false);
  });

  it("bounds the entries of a group", () => {
    const commands = Array.from({ length: 9 }, (_, i) => ({
      value: `${i}`,
      label: `key ${i}`,
      icon: "key" as const,
    }));
    expect(chosen(commands, "key")).toHaveLength(5);
    expect(chosen(commands, "key 7").map(({ value }) => value)).toEqual(["7"]);
  });

  it("reads the pages of the documentation", () => {
    const index =
      "# F\n\n> x\n\n## Guides\n\n- [Quickstart](/docs/guides/quickstart.md): Start.\n- [Flags](/docs/a.md#flags): x\n- [Bad](https://x)\n";
    expect(parseDocs(index)).toEqual([
      { title: "Quickstart", href: "/docs/guides/quickstart" },
      { title: "Flags", href: "/docs/a#flags" },
    ]);
  });
});
