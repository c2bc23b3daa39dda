import { describe, expect, it } from "vitest";
import { parse } from "yaml";

import type { Policy } from "../../api/routing";
import { moved } from "./draft";
import { editDocument } from "./document";

const source = `# Owned by the platform team.
policies:
  # Keep the nightly job cheap.
  - name: "nightly"   # see the runbook
    when: key.name == "ci" && request.task in ["code"]
    # Agreed with finance.
    max_cost_usd: 0.050
    # pin: sim-flagship

  # Confidential keys.
  - description: 'No prompts in the log'
    name: private
    log_bodies: false
    prefer:
      - sim-nano # cheapest
      # second choice
      - "sim-flagship"
    allow: {models: [ 'sim-*', "gpt-4.1*" ], tags: [eu]}


  # Last resort.
  - name: closed
    enabled: false # since May
    deny: >-
      Not available
      here.
# End of the file.
`;

type Change = (policies: Policy[]) => Policy[];

const policiesOf = (text: string) => {
  const { policies } = parse(text) as { policies: Policy[] | null };
  return (policies ?? []).map((p) => ({
    ...p,
    ...(p.max_cost_usd !== undefined && { max_cost_usd: String(p.max_cost_usd) }),
  }));
};

const edited = (text: string, change: Change) => {
  const before = policiesOf(text);
  const after = change(before);
  const result = editDocument(text, before, after) ?? "";
  expect(policiesOf(result)).toEqual(after);
  return result;
};

const set =
  (index: number, fields: Partial<Policy>): Change =>
  (policies) =>
    policies.map((p, i) =>
      i === index
        ? (Object.fromEntries(
            Object.entries({ ...p, ...fields }).filter(([, value]) => value !== undefined),
          ) as unknown as Policy)
        : p,
    );

/** The lines that a change removed (-) and added (+). */
const diff = (before: string, after: string) => {
  const rest = after.split("\n");
  const removed = before.split("\n").filter((line) => {
    const at = rest.indexOf(line);
    if (at >= 0) {
      rest.splice(at, 1);
    }
    return at < 0;
  });
  return [...removed.map((line) => `-${line}`), ...rest.map((line) => `+${line}`)];
};

describe("changing fields rewrites only their lines", () => {
  it.each<[string, Change, string[]]>([
    ["switch off", set(0, { enabled: false }), ["+    enabled: false"]],
    ["switch on", set(2, { enabled: undefined }), ["-    enabled: false # since May"]],
    [
      "rename",
      set(0, { name: "nights" }),
      ['-  - name: "nightly"   # see the runbook', '+  - name: "nights"   # see the runbook'],
    ],
    [
      "change an amount",
      set(0, { max_cost_usd: "0.1" }),
      ["-    max_cost_usd: 0.050", "+    max_cost_usd: 0.1"],
    ],
    [
      "remove a field with its comment",
      set(0, { max_cost_usd: undefined }),
      ["-    # Agreed with finance.", "-    max_cost_usd: 0.050"],
    ],
    [
      "remove the field on the line of the dash",
      set(1, { description: undefined }),
      ["-  - description: 'No prompts in the log'", "-    name: private", "+  - name: private"],
    ],
    [
      "change a condition",
      set(0, { when: 'key.name == "x: y" # z' }),
      ['-    when: key.name == "ci" && request.task in ["code"]', `+    when: 'key.name == "x: y" # z'`],
    ],
    ["add a field", set(2, { description: "Off: for now" }), ['+    description: "Off: for now"']],
    [
      "add several fields",
      set(0, { pin: "sim-nano", description: "d" }),
      ["+    description: d", "+    pin: sim-nano"],
    ],
    [
      "add to a list of lines",
      set(1, { prefer: ["sim-nano", "sim-flagship", "gpt-4.1"] }),
      ["+      - gpt-4.1"],
    ],
    [
      "remove from a list of lines",
      set(1, { prefer: ["sim-nano"] }),
      ["-      # second choice", '-      - "sim-flagship"'],
    ],
    [
      "add to a list in brackets",
      set(1, { allow: { models: ["sim-*", "gpt-4.1*"], tags: ["eu", "us"] } }),
      [
        `-    allow: {models: [ 'sim-*', "gpt-4.1*" ], tags: [eu]}`,
        `+    allow: {models: ['sim-*', "gpt-4.1*"], tags: [eu, us]}`,
      ],
    ],
    [
      "remove a list in brackets",
      set(1, { allow: { models: ["gpt-4.1*"] } }),
      [`-    allow: {models: [ 'sim-*', "gpt-4.1*" ], tags: [eu]}`, `+    allow: {models: ["gpt-4.1*"]}`],
    ],
    [
      "add a selector",
      set(0, { exclude: { providers: ["a", "b c"] } }),
      ["+    exclude: {providers: [a, b c]}"],
    ],
    [
      "change text of several lines",
      set(2, { deny: "Closed." }),
      ["-    deny: >-", "-      Not available", "-      here.", "+    deny: Closed."],
    ],
    [
      "write text of several lines",
      set(2, { deny: "One.\nTwo." }),
      ["-      Not available", "-      here.", "+      One.", "+      Two.", "+"],
    ],
  ])("%s", (_, change, expected) => {
    expect(diff(source, edited(source, change))).toEqual(expected);
  });
});

describe("changing the list keeps the text of every policy", () => {
  const block = (name: string) =>
    source.slice(
      source.indexOf({ a: "  # Keep", b: "  # Confidential", c: "  # Last" }[name] ?? ""),
      {
        a: source.indexOf("\n  # Confidential"),
        b: source.indexOf("\n\n  # Last"),
        c: source.indexOf("# End"),
      }[name],
    );
  const [a, b, c] = [block("a"), block("b"), block("c")];
  const head = "# Owned by the platform team.\npolicies:\n";
  const end = "# End of the file.\n";

  it.each<[string, Change, string]>([
    ["move up", (p) => moved(p, 1, 0), `${head}${b}\n${a}\n\n${c}${end}`],
    ["move down", (p) => moved(p, 0, 2), `${head}${b}\n${c}\n\n${a}${end}`],
    ["remove the first", (p) => p.slice(1), `${head}${b}\n${c}${end}`],
    ["remove the last", (p) => p.slice(0, 2), `${head}${a}\n${b}${end}`],
    [
      "add at the end",
      (p) => [...p, { name: "d", pin: "x" }],
      `${head}${a}\n${b}\n\n${c}\n\n  - name: d\n    pin: x\n${end}`,
    ],
    [
      "add in between",
      (p) => [...p.slice(0, 1), { name: "d", prefer: ["x"] }, ...p.slice(1)],
      `${head}${a}\n  - name: d\n    prefer: [x]\n\n\n${b}\n\n${c}${end}`,
    ],
    ["remove all", () => [], `# Owned by the platform team.\npolicies: []\n${end}`],
  ])("%s", (_, change, expected) => {
    expect(edited(source, change)).toBe(expected);
  });
});

describe("other shapes of the document", () => {
  const add: Change = (p) => [...p, { name: "x", objective: "0.9", enabled: false }];
  const item = "  - name: x\n    enabled: false\n    objective: 0.9\n";
  it.each<[string, string, Change, string]>([
    ["empty", "", add, `policies:\n${item}`],
    ["only a comment", "# hi", add, `# hi\npolicies:\n${item}`],
    ["an empty list", "policies: [] # none\n# end\n", add, `policies: # none\n${item}# end\n`],
    [
      "dashes in the first column",
      "policies:\n# a\n- name: a\n  pin: b\n",
      add,
      "policies:\n# a\n- name: a\n  pin: b\n- name: x\n  enabled: false\n  objective: 0.9\n",
    ],
    [
      "no newline at the end",
      "policies:\n  - name: a",
      set(0, { pin: "b" }),
      "policies:\n  - name: a\n    pin: b",
    ],
    [
      "a policy in brackets",
      "policies:\n  # a\n  - {name: 'a', pin: b} # c\n",
      set(0, { enabled: false }),
      "policies:\n  # a\n  - {name: 'a', pin: b, enabled: false} # c\n",
    ],
    [
      "a list in brackets",
      "# top\npolicies: [{name: 'a', pin: b}] # c\n",
      set(0, { pin: "d" }),
      "# top\npolicies: [{name: 'a', pin: d}] # c\n",
    ],
    [
      "nested lines",
      "policies:\n  - name: a\n    allow:\n      # ours\n      models: [b] # all\n      tags:\n        - c # d\n",
      set(0, { allow: { models: ["b", "e"], tags: ["c"] } }),
      "policies:\n  - name: a\n    allow:\n      # ours\n      models: [b, e] # all\n      tags:\n        - c # d\n",
    ],
    [
      "brackets over several lines",
      "policies:\n  - name: a\n    prefer: [\n      b, # first\n      'c', # second\n    ] # end\n",
      set(0, { prefer: ["b", "c", "d"] }),
      "policies:\n  - name: a\n    prefer: [\n        b, # first\n        'c', # second\n        d\n      ] # end\n",
    ],
  ])("%s", (_, before, change, expected) => {
    const old = policiesOf(before === "" || before === "# hi" ? "policies: []" : before);
    expect(editDocument(before, old, change(old))).toBe(expected);
  });

  it("omits empty fields", () => {
    const text = "policies:\n  - name: a\n    pin: b\n";
    const before = policiesOf(text);
    const after = [{ name: "a", pin: "b", deny: "", prefer: [], allow: { models: [] } }];
    expect(editDocument(text, before, after)).toBe(text);
  });

  it("rejects YAML whose policies differ from the form", () => {
    const before = [{ name: "a", pin: "b" }];
    expect(editDocument("policies:\n  - name: c\n", before, [])).toBeUndefined();
    expect(editDocument("policies: [\n", before, [])).toBeUndefined();
  });
});
