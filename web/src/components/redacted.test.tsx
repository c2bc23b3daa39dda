import { screen } from "@testing-library/react";
import { describe, expect, it, test } from "vitest";

import { splitRedacted } from "../lib/redacted";
import { renderWithTheme } from "../lib/testRender";
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
  expect(splitRedacted(text)).toEqual(want);
});

describe("Redacted", () => {
  it("shows redactions with the name of their rule and keeps the rest of the text", () => {
    const { container } = renderWithTheme(<Redacted text="I am [redacted: email], hello" search="hell" />);
    const mark = screen.getByText("[redacted: email]");
    expect(mark.tagName).toBe("MARK");
    expect(mark.title).toContain("email");
    expect(screen.getByText("hell").tagName).toBe("MARK");
    expect(container.textContent).toContain("I am [redacted: email], hello");
  });
});
