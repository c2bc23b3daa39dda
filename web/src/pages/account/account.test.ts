import { expect, test } from "vitest";

import { differing } from "../../api/manage";
import { clientName, zoneNames } from "./labels";

test.each([
  [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0 Safari/537.36",
    "Chrome on Linux",
  ],
  [
    "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
    "Edge on Windows",
  ],
  [
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) AppleWebKit/605.1 Version/18.0 Safari/605.1",
    "Safari on macOS",
  ],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Safari/604.1",
    "Safari on iPhone",
  ],
  ["curl/8.5.0", "curl/8.5.0"],
  ["", "unknown"],
])("%s", (agent, want) => {
  expect(clientName(agent)).toBe(want);
});

test("the current zone is listed even if the browser does not know it", () => {
  expect(zoneNames("Mars/Olympus").slice(0, 2)).toEqual(["UTC", "Mars/Olympus"]);
  expect(zoneNames("UTC").filter((name) => name === "UTC")).toHaveLength(1);
});

test("settings with a different saved value are named", () => {
  const saved = { name: "a", model: null, budget: { amount: "1" } };
  expect(differing({ name: "a", model: null, other: undefined }, saved)).toEqual([]);
  expect(differing({ name: "b", budget: { amount: "2" } }, saved)).toEqual(["name", "budget"]);
  expect(differing({ absent: null }, saved)).toEqual([]);
});
