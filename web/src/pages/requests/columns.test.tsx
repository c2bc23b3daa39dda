import { expect, it } from "vitest";

import type { Schema } from "../../api/client";
import { renderWithTheme } from "../../lib/testRender";
import { Badges, PromptText } from "./columns";

type Row = Schema["RequestRow"];

const usual = {
  state: "done",
  outcome: "ok",
  decision: "expected",
  attempt_count: 1,
  endpoint: "chat/completions",
  preview: "Hello",
} as Row;

const badges = (row: Partial<Row>) => {
  const { container } = renderWithTheme(<Badges row={{ ...usual, ...row }} />);
  return [...container.querySelectorAll(".mantine-Badge-label")].map((badge) => badge.textContent);
};

it("has badges for unusual requests only", () => {
  expect(badges({})).toEqual([]);
  expect(badges({ decision: "fallback" })).toEqual(["fallback"]);
  expect(badges({ decision: "policy", policy: "eu-only" })).toEqual(["policy"]);
  expect(badges({ outcome: "partial", decision: "fallback" })).toEqual(["partial", "fallback"]);
  expect(badges({ outcome: "rejected", decision: null })).toEqual(["rejected"]);
  expect(badges({ escalated: "3 identical tool errors" })).toEqual(["escalated"]);
  expect(badges({ state: "running", outcome: null, decision: null })).toEqual(["running"]);
});

it("shows the endpoint if the prompt is not available", () => {
  const text = (row: Partial<Row>) =>
    renderWithTheme(<PromptText row={{ ...usual, ...row }} />).container.textContent;
  expect(text({})).toContain("Hello");
  expect(text({ preview: "" })).toContain("chat · prompt not available");
});
