import { act, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { renderWithTheme } from "../lib/testRender";
import { Delayed } from "./Loading";
import { PageError } from "./PageError";

beforeEach(() => sessionStorage.clear());
afterEach(() => vi.useRealTimers());

it("shows an error of the page with a retry", async () => {
  const retry = vi.fn();
  renderWithTheme(<PageError error={new Error("x is not a function")} onRetry={retry} />);
  expect(screen.getByRole("alert").textContent).toContain("x is not a function");
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(retry).toHaveBeenCalledOnce();
});

it("offers a reload when files are missing and the gateway is unreachable", async () => {
  vi.spyOn(window, "fetch").mockRejectedValue(new TypeError("Failed to fetch"));
  const missing = new TypeError("Failed to fetch dynamically imported module: /assets/a.js");
  renderWithTheme(<PageError error={missing} onRetry={vi.fn()} />);
  expect(await screen.findByRole("button", { name: "Reload" })).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Retry" })).toBeNull();
});

it("delays placeholders, so that fast loads do not flicker", () => {
  vi.useFakeTimers();
  renderWithTheme(<Delayed>loading</Delayed>);
  act(() => void vi.advanceTimersByTime(149));
  expect(screen.queryByText("loading")).toBeNull();
  act(() => void vi.advanceTimersByTime(1));
  expect(screen.getByText("loading")).toBeTruthy();
});
