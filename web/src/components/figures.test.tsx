import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";

import type { Schema } from "../api/client";
import { storeText } from "../lib/stored";
import { renderWithTheme } from "../lib/testRender";
import { DecisionBadge, OutcomeBadge } from "./badges";
import { CircuitBadge } from "./CircuitBadge";
import { LongText } from "./LongText";
import { Money } from "./Money";
import { ShareBar } from "./ShareBar";
import { Time } from "./Time";
import { Tokens } from "./Tokens";

const text = (element: React.ReactNode) => {
  const { container } = renderWithTheme(<section>{element}</section>);
  return container.querySelector("section")?.textContent;
};

describe("Time", () => {
  beforeEach(() => storeText("zone", '"utc"'));
  const at = "2020-11-03T09:08:07Z";

  it.each([
    ["row", "3 Nov 09:08:07"],
    ["stack", "09:08:073 Nov"],
    ["moment", "3 Nov 2020, 09:08:07 UTC"],
    ["day", "3 Nov 2020"],
  ] as const)("is shown as %s", (as, expected) => {
    expect(text(<Time at={at} as={as} />)).toBe(expected);
  });

  it("is machine-readable, and a missing time has a placeholder", () => {
    renderWithTheme(<Time at={at} />);
    expect(document.querySelector("time")?.dateTime).toBe(at);
    expect(text(<Time at={null} none="never" />)).toBe("never");
  });

  it("shows both zones and the age on hover", async () => {
    renderWithTheme(<Time at={at} />);
    await userEvent.hover(screen.getByText("3 Nov 09:08:07"));
    const tooltip = await screen.findByRole("tooltip");
    expect(tooltip.textContent).toMatch(/3 Nov 2020, 09:08:07 local time.*09:08:07 UTC.*days ago/);
  });
});

describe("Tokens", () => {
  const tokens = (more: Partial<Schema["Tokens"]>): Schema["Tokens"] => ({
    input: 0,
    cache_read: 0,
    cache_write: 0,
    output: 0,
    reasoning: 0,
    searches: 0,
    estimated: false,
    ...more,
  });

  it.each<[string, Partial<Schema["Tokens"]>, string]>([
    ["input and output", { input: 1200, output: 80 }, "1,200/80"],
    [
      "all classes of input",
      { input: 100, cache_read: 300, cache_write: 100, output: 5 },
      "500/560 % cached",
    ],
    ["an estimate", { input: 3, output: 2, estimated: true }, "≈ 3/2"],
    ["no tokens", {}, "0/0"],
  ])("shows %s", (_, classes, expected) => {
    expect(text(<Tokens tokens={tokens(classes)} />)).toBe(expected);
  });
});

describe("CircuitBadge", () => {
  it("shows only the state when the circuit is closed", () => {
    expect(text(<CircuitBadge circuit="closed" nextProbe="2999-01-01T00:00:00Z" />)).toBe("Healthy");
  });

  it("shows the time of the next retry", () => {
    const soon = new Date(Date.now() - 1000).toISOString();
    expect(text(<CircuitBadge circuit="open" nextProbe={soon} />)).toBe("Pausedretrying soon");
  });

  it.each([
    [{ reason: "timeout", part: { of: 3, count: 3 } }, "timeout"],
    [{ reason: "timeout", part: { of: 3, count: 1 } }, "timeout1 of 3 targets"],
    [{}, "Recent calls failed."],
  ])("explains %o on hover", async (props, expected) => {
    renderWithTheme(<CircuitBadge circuit="half_open" {...props} />);
    await userEvent.hover(screen.getByText("Retrying"));
    expect((await screen.findByRole("tooltip")).textContent).toBe(expected);
  });
});

describe("badges", () => {
  it.each([
    ["running", <OutcomeBadge key="" outcome={null} />],
    ["ok", <OutcomeBadge key="" outcome="ok" status={200} />],
    ["429 rejected", <OutcomeBadge key="" outcome="rejected" status={429} />],
    ["new outcome", <OutcomeBadge key="" outcome="new outcome" />],
    ["policy", <DecisionBadge key="" decision="policy" />],
    ["—", <DecisionBadge key="" decision={null} />],
    ["new decision", <DecisionBadge key="" decision="new decision" />],
  ])("show %s", (expected, badge) => expect(text(badge)).toBe(expected));
});

describe("amounts and shares", () => {
  it("show a zero price as free and a zero amount as $0.00", () => {
    expect(text(<Money amount="0" paid />)).toBe("free");
    expect(text(<Money amount="0" />)).toBe("$0.00");
  });

  it("show the exact amount on hover", async () => {
    renderWithTheme(<Money amount="0.000123456" />);
    await userEvent.hover(screen.getByText("$0.0001235"));
    expect((await screen.findByRole("tooltip")).textContent).toBe("$0.000123456");
  });

  it.each([
    [150, "100"],
    [-5, "0"],
    [null, "0"],
    [42.5, "42.5"],
  ])("limit the bar of %s percent", (percent, width) => {
    const { container } = renderWithTheme(<ShareBar percent={percent} />);
    expect(container.querySelectorAll("rect")[1]?.getAttribute("width")).toBe(width);
  });
});

describe("LongText", () => {
  it("adds line breaks without changing the text", () => {
    const long = "x".repeat(1500);
    const { container } = renderWithTheme(<LongText text={long} />);
    expect(container.querySelectorAll("wbr")).toHaveLength(2);
    expect(container.textContent).toContain(long);
  });
});
