import { screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { type Session, SessionProvider } from "../../lib/session";
import { renderWithTheme } from "../../lib/testRender";
import { ExportMenu } from "./ListTools";

function exportsOf(timeZone: string): URLSearchParams[] {
  renderWithTheme(
    <SessionProvider session={{ account: { time_zone: timeZone } } as Session}>
      <ExportMenu
        filters={{ outcome: "ok" }}
        range={{ from: "now-7d" }}
        columns={["time", "model"]}
        opened
        onChange={() => undefined}
      />
    </SessionProvider>,
  );
  return screen.getAllByRole<HTMLAnchorElement>("menuitem").map(({ href }) => new URL(href).searchParams);
}

it("exports the listed requests with times in the page's zone", () => {
  const links = exportsOf("Europe/Berlin");
  expect(links.map((p) => [p.get("format"), p.get("outcome"), p.get("from"), p.get("zone")])).toEqual([
    ["csv", "ok", "now-7d", "Europe/Berlin"],
    ["jsonl", "ok", "now-7d", "Europe/Berlin"],
  ]);
});

it("omits the zone for UTC", () => {
  expect(exportsOf("UTC").map((p) => p.get("zone"))).toEqual([null, null]);
});
