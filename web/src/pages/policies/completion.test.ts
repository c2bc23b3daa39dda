import { describe, expect, it } from "vitest";

import { suggest } from "./completion";

const policySet = {
  fields: [
    { name: "request.task", type: "text", doc: "kind of work", values: ["code", "chat"] },
    { name: "key.name", type: "text", doc: "name", values: [] },
  ],
  names: { models: ["big", "small"], providers: ["acme"], targets: ["acme/big"], tags: ["local"] },
};

const labels = (line: string, above: string[] = ["policies:", "  - name: a"]) =>
  suggest(line, above, policySet)?.list.map(({ label }) => label);

describe("suggest", () => {
  it("suggests the top-level key", () => {
    expect(labels("", [])).toEqual(["policies"]);
  });

  it("suggests the fields of a policy at the start of the word", () => {
    expect(labels("    ob")).toContain("objective");
    expect(suggest("    ob", ["policies:", "  - name: a"], policySet)?.from).toBe(4);
    expect(labels("  - na", ["policies:"])).toContain("name");
  });

  it("suggests the lists of allow and exclude", () => {
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
  ])("suggests values after %j", (line, expected) => {
    expect(labels(line)).toEqual(expected);
  });

  it("suggests condition fields and their values", () => {
    expect(labels("    when: req")).toEqual(["request.task", "key.name"]);
    expect(labels('    when: request.task == "co')).toEqual(["code", "chat"]);
    expect(labels('    when: request.task in ["code", "')).toEqual(["code", "chat"]);
    expect(labels("    when: request.auto && k")).toContain("key.name");
    expect(labels('    when: key.tags["te')).toBeUndefined();
  });

  it("suggests nothing for free text", () => {
    expect(labels("    deny: bec")).toBeUndefined();
    expect(labels("    name: a")).toBeUndefined();
  });
});
