import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { storedText, storeText, useStored, useStoredText } from "./stored";

beforeEach(() => localStorage.clear());
afterEach(() => vi.restoreAllMocks());

function Counter() {
  const [count, setCount] = useStored("count", 1);
  return <button onClick={() => setCount(count + 1)}>{count}</button>;
}

function Text() {
  return <p>{useStoredText("text") ?? "none"}</p>;
}

it("stores text under a prefixed key", () => {
  expect(storedText("text")).toBeNull();
  storeText("text", "a");
  expect([storedText("text"), localStorage.getItem("fairlead-text")]).toEqual(["a", "a"]);
});

it("updates every component and keeps the value for the next visit", async () => {
  const { unmount } = render(
    <>
      <Counter />
      <Counter />
    </>,
  );
  await userEvent.click(screen.getAllByRole("button")[0] as HTMLElement);
  expect(screen.getAllByText("2")).toHaveLength(2);
  unmount();
  render(<Counter />);
  expect(screen.getByText("2")).toBeTruthy();
});

it("follows changes in another tab", () => {
  render(<Text />);
  expect(screen.getByText("none")).toBeTruthy();
  localStorage.setItem("fairlead-text", "other tab");
  act(() => void window.dispatchEvent(new Event("storage")));
  expect(screen.getByText("other tab")).toBeTruthy();
});

it("uses the initial value when the stored one is not JSON", () => {
  localStorage.setItem("fairlead-count", "{");
  render(<Counter />);
  expect(screen.getByText("1")).toBeTruthy();
});

it("keeps values in memory when local storage is unavailable", () => {
  vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("full");
  });
  vi.spyOn(Storage.prototype, "getItem").mockImplementation(() => {
    throw new DOMException("denied");
  });
  expect(storedText("memory")).toBeNull();
  storeText("memory", "kept");
  expect(storedText("memory")).toBe("kept");
});
