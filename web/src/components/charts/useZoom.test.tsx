import { act, renderHook } from "@testing-library/react";
import { expect, it, vi } from "vitest";

import { useZoom } from "./useZoom";

function zoom() {
  const callbacks = { onZoom: vi.fn(), onPick: vi.fn(), onEnd: vi.fn() };
  const { result } = renderHook(() => useZoom(callbacks));
  const at = (label?: string) => ({ activeLabel: label });
  return {
    ...callbacks,
    down: (label?: string) => act(() => result.current.handlers.onMouseDown(at(label))),
    move: (label?: string) => act(() => result.current.handlers.onMouseMove(at(label))),
    up: (label?: string) => act(() => result.current.handlers.onMouseUp(at(label))),
    leave: () => act(() => result.current.handlers.onMouseLeave()),
    selection: () => result.current.selection,
  };
}

it("selects a range by dragging", () => {
  const chart = zoom();
  chart.down("10:00");
  chart.move("12:00");
  expect(chart.selection()).toEqual({ from: "10:00", to: "12:00" });
  chart.up("12:00");
  expect(chart.onZoom).toHaveBeenCalledWith("10:00", "12:00");
  expect(chart.onPick).not.toHaveBeenCalled();
  expect(chart.selection()).toBeUndefined();
});

it("picks a bucket by clicking, even if the pointer moved within it", () => {
  const chart = zoom();
  chart.down("10:00");
  chart.move("10:00");
  expect(chart.selection()).toBeUndefined();
  chart.up("10:00");
  expect(chart.onPick).toHaveBeenCalledWith("10:00");
  expect(chart.onZoom).not.toHaveBeenCalled();
});

it("ends at the last bucket when the button is released outside of one", () => {
  const chart = zoom();
  chart.down("10:00");
  chart.move("12:00");
  chart.up(undefined);
  expect(chart.onZoom).toHaveBeenCalledWith("10:00", "12:00");
});

it("cancels the selection when the pointer leaves the chart", () => {
  const chart = zoom();
  chart.down("10:00");
  chart.move("12:00");
  chart.leave();
  expect(chart.selection()).toBeUndefined();
  chart.up("12:00");
  expect(chart.onZoom).not.toHaveBeenCalled();
  expect(chart.onEnd).toHaveBeenCalledTimes(2);
});

it("ignores moves without a pressed button", () => {
  const chart = zoom();
  chart.move("12:00");
  expect(chart.selection()).toBeUndefined();
});
