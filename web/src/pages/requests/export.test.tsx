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

it("exports what is listed, with times in the zone that the page shows", () => {
  const links = exportsOf("Europe/Berlin");
  expect(links.map((p) => [p.get("format"), p.get("outcome"), p.get("from"), p.get("zone")])).toEqual([
    ["csv", "ok", "now-7d", "Europe/Berlin"],
    ["jsonl", "ok", "now-7d", "Europe/Berlin"],
  ]);
});

it("names no zone when times are in UTC", () => {
  expect(exportsOf("UTC").map((p) => p.get("zone"))).toEqual([null, null]);
});
