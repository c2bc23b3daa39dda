import { expect, it } from "vitest";

import { prettyJson, splitJson } from "./json";

it("formats objects and lists only", () => {
  expect(prettyJson(' {"a":1} ')).toBe('{\n  "a": 1\n}');
  expect(prettyJson("[1]")).toBe("[\n  1\n]");
  for (const text of ["", "text", "1", '"a"', "{broken", "[link](https://example.com)"]) {
    expect(prettyJson(text)).toBeUndefined();
  }
});

it("splits JSON into keys, strings and values without losing characters", () => {
  const text = '{\n  "a \\" b": "c: d",\n  "n": -1.5e3,\n  "t": [true, null]\n}';
  const parts = splitJson(text);
  expect(parts.map((part) => part.text).join("")).toBe(text);
  expect(parts.filter((part) => part.kind !== "space").map(({ kind, text: value }) => [kind, value])).toEqual(
    [
      ["key", '"a \\" b"'],
      ["string", '"c: d"'],
      ["key", '"n"'],
      ["literal", "-1.5e3"],
      ["key", '"t"'],
      ["literal", "true"],
      ["literal", "null"],
    ],
  );
  const long = `"${"a".repeat(100_000)}"`;
  expect(splitJson(long)).toEqual([{ kind: "literal", text: long }]);
});
