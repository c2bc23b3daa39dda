import { expect, test } from "vitest";

import { zoneOf } from "./preferences";

test.each([
  [null, "Europe/Paris", "Europe/Paris"],
  [null, "UTC", "utc"],
  [null, undefined, "local"],
  ["utc", "Europe/Paris", "utc"],
  ["local", "Europe/Paris", "Europe/Paris"],
  ["local", "UTC", "local"],
] as const)("the switch at %s shows an account in %s the zone %s", (choice, own, zone) => {
  expect(zoneOf(choice, own)).toBe(zone);
});
