import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";

import type { Range } from "../lib/range";
import { storeText } from "../lib/stored";
import { renderWithTheme } from "../lib/testRender";
import { InvalidRange, RangePicker } from "./RangePicker";

beforeEach(() => storeText("zone", '"utc"'));

async function open(range: Range) {
  const onChange = vi.fn<(range: Range) => void>();
  renderWithTheme(<RangePicker range={range} onChange={onChange} />);
  await userEvent.click(screen.getByRole("button"));
  return onChange;
}

describe("RangePicker", () => {
  it.each<[Range, string]>([
    [{ from: "now-24h" }, "Last 24 hours"],
    [{ from: "now-1h", to: "now" }, "Last hour"],
    [{ from: "now-2h" }, "now-2h – now"],
    [
      { from: "2026-11-03T11:00:00Z", to: "2026-11-03T12:00:00Z" },
      "3 Nov 2026, 11:00:00 UTC – 3 Nov 2026, 12:00:00 UTC",
    ],
  ])("labels %o", (range, label) => {
    renderWithTheme(<RangePicker range={range} onChange={vi.fn()} />);
    expect(screen.getByRole("button", { name: label })).toBeTruthy();
  });

  it("selects a preset", async () => {
    const onChange = await open({ from: "now-24h" });
    await userEvent.click(await screen.findByRole("button", { name: "Last 7 days" }));
    expect(onChange).toHaveBeenCalledWith({ from: "now-7d" });
  });

  it("pins a relative range to fixed times", async () => {
    const onChange = await open({ from: "now-1h" });
    await userEvent.click(await screen.findByRole("button", { name: "Pin range" }));
    const [range] = onChange.mock.calls[0] ?? [];
    expect(Date.parse(range?.to ?? "") - Date.parse(range?.from ?? "")).toBe(3_600_000);
  });

  it("does not offer to pin fixed times", async () => {
    await open({ from: "2026-11-03T11:00:00Z", to: "2026-11-03T12:00:00Z" });
    expect(await screen.findByLabelText("From")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Pin range" })).toBeNull();
  });

  it("applies custom times in the zone of the page, if they are in order", async () => {
    const onChange = await open({ from: "2026-11-03T11:00:00Z", to: "2026-11-03T12:00:00Z" });
    const from = await screen.findByLabelText<HTMLInputElement>("From");
    expect(from.value).toBe("2026-11-03T11:00");
    fireEvent.change(from, { target: { value: "2026-11-03T13:00" } });
    expect(screen.getByText("The end must be after the start.")).toBeTruthy();
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Apply" }).disabled).toBe(true);
    fireEvent.change(from, { target: { value: "2026-11-03T10:30" } });
    await userEvent.click(screen.getByRole("button", { name: "Apply" }));
    expect(onChange).toHaveBeenCalledWith({
      from: "2026-11-03T10:30:00.000Z",
      to: "2026-11-03T12:00:00.000Z",
    });
  });
});

describe("InvalidRange", () => {
  it("is hidden when the URL is valid", () => {
    renderWithTheme(<InvalidRange ends={[]} range={{ from: "now-24h" }} />);
    expect(screen.queryByRole("status")).toBeNull();
  });

  it.each<[string[], Range, string]>([
    [["yesterday"], { from: "now-24h" }, "Invalid time in the URL: “yesterday”. Showing the last 24 hours."],
    [["a", "b"], { from: "now-24h" }, "Invalid times in the URL: “a” and “b”. Showing the last 24 hours."],
    [
      ["b"],
      { from: "now-7d", to: "now-1d" },
      "Invalid time in the URL: “b”. Showing the valid part of the range.",
    ],
  ])("names %j and the range that is shown", (ends, range, text) => {
    renderWithTheme(<InvalidRange ends={ends} range={range} />);
    expect(screen.getByRole("status").textContent).toContain(text);
  });
});
