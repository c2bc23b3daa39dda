import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";

import { renderWithTheme } from "../../lib/testRender";
import { ChartPanel } from "./ChartPanel";

it("switches between chart and table", async () => {
  renderWithTheme(
    <ChartPanel
      title="Spend"
      legend={<p>the legend</p>}
      chart={<p>the chart</p>}
      table="the table"
      note="the note"
    />,
  );
  expect(screen.getByText("the chart")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "View as table: Spend" }));
  expect(screen.getByRole("region", { name: "Spend, table" }).textContent).toBe("the table");
  expect(screen.queryByText("the chart")).toBeNull();
  expect(screen.queryByText("the legend")).toBeNull();
  expect(screen.getByText("the note")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "View as chart: Spend" }));
  expect(screen.getByText("the chart")).toBeTruthy();
});
