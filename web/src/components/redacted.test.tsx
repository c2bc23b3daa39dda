import { screen } from "@testing-library/react";
import { describe, expect, it, test } from "vitest";

import { redactedPieces } from "../lib/redacted";
import { renderPart } from "../lib/testRender";
import { Redacted } from "./Redacted";

test.each([
  { text: "", want: [] },
  { text: "plain [x] [redacted] [redacted: ]", want: [{ text: "plain [x] [redacted] [redacted: ]" }] },
  {
    text: "a[redacted: email][redacted: code name]b",
    want: [
      { text: "a" },
      { text: "[redacted: email]", rule: "email" },
      { text: "[redacted: code name]", rule: "code name" },
      { text: "b" },
    ],
  },
])("parts of “$text”", ({ text, want }) => {
  expect(redactedPieces(text)).toEqual(want);
});

describe("Redacted", () => {
  it("marks what was taken out, names the rule, and keeps the text", () => {
    const { container } = renderPart(<Redacted text="I am [redacted: email], hello" search="hell" />);
    const mark = screen.getByText("[redacted: email]");
    expect(mark.tagName).toBe("MARK");
    expect(mark.title).toContain("email");
    expect(screen.getByText("hell").tagName).toBe("MARK");
    expect(container.textContent).toContain("I am [redacted: email], hello");
  });
});
