import { afterEach, expect, it, vi } from "vitest";

import { takeEarly } from "./early";

afterEach(() => vi.unstubAllGlobals());

it("returns a response once, soon after the page was opened", () => {
  const response = Promise.resolve(new Response());
  const call = (url: string, method = "GET") => takeEarly(new Request(`http://gateway${url}`, { method }));
  vi.stubGlobal("window", {
    fairleadEarly: new Map(
      Object.entries({ "/api/v1/session": response, "/api/v1/overview?from=now-24h": response }),
    ),
  });
  vi.spyOn(performance, "now").mockReturnValue(900);
  expect(call("/api/v1/session", "DELETE")).toBeUndefined();
  expect(call("/api/v1/session")).toBe(response);
  expect(call("/api/v1/session")).toBeUndefined();
  expect(call("/api/v1/overview?from=now-7d")).toBeUndefined();
  vi.spyOn(performance, "now").mockReturnValue(31_000);
  expect(call("/api/v1/overview?from=now-24h")).toBeUndefined();
});
