import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { renderWithTheme } from "../../lib/testRender";
import { Sides } from "./Examples";
import { exampleTexts } from "./examples";

const answer = (content: string) => ({ choices: [{ message: { role: "assistant", content } }] });

describe("exampleTexts", () => {
  const body = {
    state: "stored",
    response: JSON.stringify(answer("served")),
    chat_response: null,
    streamed: false,
  };
  const record = { holdout: false, response: answer("shadow"), reason: "shorter" };
  const texts = (change: object, changed: object) =>
    exampleTexts(
      { ...body, ...change } as Schema["RequestBody"],
      { ...record, ...changed } as unknown as Schema["ComparisonRecord"],
    );

  it("assigns the responses to their models", () => {
    expect(texts({}, {})).toEqual({ routed: "served", baseline: "shadow", reason: "shorter" });
    expect(texts({}, { holdout: true })).toEqual({ routed: "shadow", baseline: "served", reason: "shorter" });
  });

  it("has no text where it is not stored", () => {
    expect(texts({ state: "disabled", response: null }, { response: undefined })).toEqual({
      routed: null,
      baseline: null,
      reason: "shorter",
    });
    expect(exampleTexts(body as Schema["RequestBody"], undefined).baseline).toBeNull();
  });
});

it("reports that a text is not stored", () => {
  renderWithTheme(<Sides names={["small (routed)", "large (baseline)"]} texts={["Bern", null]} />);
  expect(screen.getByText("Bern")).toBeTruthy();
  expect(screen.getByText("The text of this response is not stored.")).toBeTruthy();
});

it("marks the words that differ on each side", () => {
  renderWithTheme(
    <Sides names={["small (routed)", "large (baseline)"]} texts={["It is Bern", "It is Zurich"]} />,
  );
  const marks = (name: string) =>
    [...screen.getByRole("region", { name }).querySelectorAll("mark")].map((mark) => mark.textContent);
  expect(marks("small (routed)")).toEqual(["Bern"]);
  expect(marks("large (baseline)")).toEqual(["Zurich"]);
});
