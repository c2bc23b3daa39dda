import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";

import { renderWithTheme } from "../../lib/testRender";
import { CircuitLine } from "./ProviderHealth";
import type { Provider } from "./providers";
import { dayText, type StatusDay, StatusTimeline } from "./StatusTimeline";

function day(start: string, status: StatusDay["status"], calls = 0, failed = 0, hours = 0): StatusDay {
  return {
    start,
    status,
    calls,
    failed,
    failed_percent: calls > 0 ? (100 * failed) / calls : null,
    failing_hours: hours,
  };
}

describe("dayText", () => {
  it.each<[StatusDay, string]>([
    [day("", "unused"), "no calls"],
    [day("", "ok", 1000, 1), "OK, 0.1 % of 1,000 calls failed"],
    [day("", "degraded", 1010, 9, 1), "Degraded, 0.9 % of 1,010 calls failed, 1 hour with failures"],
    [day("", "failing", 1, 1), "Failing, 100.0 % of 1 call failed"],
  ])("%o", (value, text) => expect(dayText(value)).toBe(text));
});

it("the timeline is also available as a table, newest day first", async () => {
  renderWithTheme(
    <StatusTimeline
      days={[day("2026-11-14T00:00:00Z", "ok", 20), day("2026-11-15T00:00:00Z", "failing", 4, 4)]}
    />,
  );
  expect(within(screen.getByRole("list", { name: "Status by day" })).getAllByRole("img")).toHaveLength(2);
  await userEvent.click(screen.getByRole("button", { name: "View as table" }));
  const rows = within(screen.getByRole("table", { name: "Status by day" })).getAllByRole("row");
  expect(rows.map((r) => r.textContent)).toEqual([
    expect.stringContaining("Day"),
    expect.stringContaining("Failing"),
    expect.stringContaining("OK"),
  ]);
});

it("a circuit is described in plain words", () => {
  const target = {
    target: "openai/gpt",
    model: "gpt",
    health: {
      circuit: "open",
      summary: "Paused after 5 failures in a row",
      since: "2026-11-15T12:00:00Z",
      reason_text: "timed out",
      next_probe: new Date(Date.now() + 11_500).toISOString(),
    },
  } as unknown as Provider["targets"][number];
  renderWithTheme(<CircuitLine target={target} />);
  expect(screen.getByRole("group", { name: "Circuit breaker for gpt" }).textContent).toMatch(
    /Paused after 5 failures in a row; next try in 1[12] s · timed out/,
  );
});
