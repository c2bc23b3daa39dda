import { act, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { useNow } from "./useNow";

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime(1_000_000);
});
afterEach(() => vi.useRealTimers());

function Clock() {
  return <p>{useNow(500)}</p>;
}

it("updates at its interval and stops when unmounted", () => {
  const { unmount } = render(<Clock />);
  expect(screen.getByText("1000000")).toBeTruthy();
  act(() => void vi.advanceTimersByTime(499));
  expect(screen.getByText("1000000")).toBeTruthy();
  act(() => void vi.advanceTimersByTime(1));
  expect(screen.getByText("1000500")).toBeTruthy();
  unmount();
  expect(vi.getTimerCount()).toBe(0);
});
