import { screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { renderWithTheme } from "../lib/testRender";
import { Diff } from "./Diff";

it("marks the words that only one side has", () => {
  renderWithTheme(<Diff before="the red car" after="the blue car" labels={["First", "Second"]} />);
  expect(document.querySelector("del")?.textContent).toBe("red");
  expect(document.querySelector("ins")?.textContent).toBe("blue");
  expect(screen.getByText("First")).toBeTruthy();
  expect(screen.getByRole("status").textContent).toMatch(/% of the text is the same/);
});

it("reports when the texts are the same, and when one is empty", () => {
  renderWithTheme(<Diff before="same" after="same" labels={["a", "b"]} />);
  expect(screen.getByText("No differences.")).toBeTruthy();
  renderWithTheme(<Diff before="" after="text" labels={["a", "b"]} />);
  expect(screen.getByText("No text")).toBeTruthy();
});
