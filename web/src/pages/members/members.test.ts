import { expect, test } from "vitest";

import type { Schema } from "../../api/client";
import { activeKeysOf } from "./memberKeys";
import { grantable, invitationLink, mayChange } from "./roles";

test("a role above one's own cannot be granted", () => {
  expect(grantable("owner").map((r) => r.value)).toEqual(["owner", "admin", "developer", "viewer"]);
  expect(grantable("developer").map((r) => r.value)).toEqual(["developer", "viewer"]);
});

test("an admin cannot change an owner", () => {
  expect(mayChange("admin", "owner")).toBe(false);
  expect(mayChange("admin", "admin")).toBe(true);
});

test("an invitation link has its token in the fragment", () => {
  expect(invitationLink("https://gw.example.com/", "abc")).toBe(
    "https://gw.example.com/register#invitation=abc",
  );
  expect(invitationLink("", "abc")).toBe(`${location.origin}/register#invitation=abc`);
});

test("removing a member lists the keys that the member created and that are not revoked", () => {
  const key = (id: string, created_by: string | null, state: string) =>
    ({ id, created_by, state }) as Schema["KeyView"];
  const keys = [
    key("key_active", "acc_1", "active"),
    key("key_expired", "acc_1", "expired"),
    key("key_revoked", "acc_1", "revoked"),
    key("key_other", "acc_2", "active"),
    key("key_cli", null, "active"),
  ];
  expect(activeKeysOf(keys, "acc_1").map((k) => k.id)).toEqual(["key_active", "key_expired"]);
});
