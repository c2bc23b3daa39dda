import { expect, test } from "vitest";

import { zoneOf } from "./preferences";

test.each([
  [null, "Europe/Paris", "Europe/Paris"],
  [null, "UTC", "utc"],
  [null, undefined, "local"],
  ["utc", "Europe/Paris", "utc"],
  ["local", "Europe/Paris", "Europe/Paris"],
  ["local", "UTC", "local"],
] as const)("choice %s and account zone %s give %s", (choice, accountZone, zone) => {
  expect(zoneOf(choice, accountZone)).toBe(zone);
});
