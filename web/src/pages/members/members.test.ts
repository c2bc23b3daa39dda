import { expect, test } from "vitest";

import { grantable, invitationLink, mayChange } from "./roles";

test("nobody gives a role above their own", () => {
  expect(grantable("owner").map((r) => r.value)).toEqual(["owner", "admin", "developer", "viewer"]);
  expect(grantable("developer").map((r) => r.value)).toEqual(["developer", "viewer"]);
});

test("an admin does not change an owner", () => {
  expect(mayChange("admin", "owner")).toBe(false);
  expect(mayChange("admin", "admin")).toBe(true);
});

test("an invitation's link keeps the token out of logs", () => {
  expect(invitationLink("https://gw.example.com/", "abc")).toBe(
    "https://gw.example.com/register#invitation=abc",
  );
  expect(invitationLink("", "abc")).toBe(`${location.origin}/register#invitation=abc`);
});
