import { fireEvent, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";

import { renderWithTheme } from "../../lib/testRender";
import DecisionChart from "./DecisionChart";
import type { Bin } from "./points";

vi.mock("@mantine/hooks", async (original) => ({
  ...(await original<typeof import("@mantine/hooks")>()),
  useElementSize: () => ({ ref: () => undefined, width: 466, height: 230 }),
}));

const series = ["12", "13", "14", "15"].map(
  (hour, i) =>
    ({ start: `2026-11-16T${hour}:00:00Z`, expected: 10 * (i + 1), fallbacks: 5, policies: 0 }) as Bin,
);

// The plot is 400 pixels wide and begins at 58; jsdom places the chart at 0.
const middleOf = (index: number) => ({ clientX: 58 + 100 * index + 50, clientY: 60 });

function chart(percent = false) {
  const onZoom = vi.fn();
  const onPick = vi.fn();
  const { container } = renderWithTheme(
    <DecisionChart
      series={series}
      stepMs={3_600_000}
      running={series[3]?.start}
      percent={percent}
      onZoom={onZoom}
      onPick={onPick}
    />,
  );
  return {
    onZoom,
    onPick,
    container,
    svg: screen.getByRole("img", { name: "Requests over time by decision" }),
  };
}

it("selects a range by dragging and a segment by clicking", () => {
  const { svg, container, onZoom, onPick } = chart();
  fireEvent.mouseDown(svg, middleOf(0));
  fireEvent.mouseMove(svg, middleOf(2));
  fireEvent.mouseUp(svg, middleOf(2));
  expect(onZoom).toHaveBeenCalledWith(series[0]?.start, series[2]?.start);
  const segment = container.querySelectorAll('rect[stroke="var(--fl-fallback)"]')[1];
  fireEvent.mouseDown(segment as Element, middleOf(1));
  fireEvent.mouseUp(svg, middleOf(1));
  expect(onPick).toHaveBeenCalledWith(series[1]?.start, "fallback");
});

it("shows the figures of the bucket under the pointer and marks the running one", () => {
  const { svg, container } = chart();
  fireEvent.mouseMove(svg, middleOf(3));
  expect(container.textContent).toContain("(so far)");
  expect(container.textContent).toContain("40 (89 %)");
  expect(container.querySelectorAll("[data-running]")).toHaveLength(1);
  fireEvent.mouseLeave(svg);
  expect(container.textContent).not.toContain("(so far)");
});

it("fills the height in percent", () => {
  const { container } = chart(true);
  expect(container.textContent).toContain("100 %");
  const heights = [...container.querySelectorAll('[class*="bar"]')].map((bar) =>
    [...bar.querySelectorAll("rect")].reduce((sum, rect) => sum + Number(rect.getAttribute("height")), 0),
  );
  expect(new Set(heights.map(Math.round))).toEqual(new Set([194]));
});
