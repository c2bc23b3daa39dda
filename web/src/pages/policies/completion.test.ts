import { describe, expect, it } from "vitest";

import { suggest } from "./completion";

const book = {
  fields: [
    { name: "request.task", type: "text", doc: "kind of work", values: ["code", "chat"] },
    { name: "key.name", type: "text", doc: "name", values: [] },
  ],
  names: { models: ["big", "small"], providers: ["acme"], targets: ["acme/big"], tags: ["local"] },
};

const labels = (line: string, above: string[] = ["policies:", "  - name: a"]) =>
  suggest(line, above, book)?.list.map(({ label }) => label);

describe("suggest", () => {
  it("begins a document", () => {
    expect(labels("", [])).toEqual(["policies"]);
  });

  it("knows the fields of a policy, and where the word begins", () => {
    expect(labels("    ob")).toContain("objective");
    expect(suggest("    ob", ["policies:", "  - name: a"], book)?.from).toBe(4);
    expect(labels("  - na", ["policies:"])).toContain("name");
  });

  it("knows the lists within allow and exclude", () => {
    expect(labels("      mo", ["policies:", "  - name: a", "    allow:"])).toEqual([
      "models",
      "providers",
      "tags",
    ]);
    expect(labels("    allow: {")).toEqual(["models", "providers", "tags"]);
    expect(labels("    exclude: {models: [big], tags: [lo")).toEqual(["local"]);
  });

  it.each([
    ["    pin: b", ["big", "small", "acme/big"]],
    ["    prefer: [big, sm", ["big", "small", "acme/big"]],
    ["    baseline: ", ["big", "small"]],
    ["    exclude: {providers: [", ["acme"]],
    ["    objective: ", ["cost", "quality", "speed"]],
    ["    enabled: f", ["true", "false"]],
  ])("knows what can follow %j", (line, expected) => {
    expect(labels(line)).toEqual(expected);
  });

  it("knows the names of conditions and their values", () => {
    expect(labels("    when: req")).toEqual(["request.task", "key.name"]);
    expect(labels('    when: request.task == "co')).toEqual(["code", "chat"]);
    expect(labels('    when: request.task in ["code", "')).toEqual(["code", "chat"]);
    expect(labels("    when: request.auto && k")).toContain("key.name");
    expect(labels('    when: key.tags["te')).toBeUndefined();
  });

  it("says nothing where there is nothing to say", () => {
    expect(labels("    deny: bec")).toBeUndefined();
    expect(labels("    name: a")).toBeUndefined();
  });
});
