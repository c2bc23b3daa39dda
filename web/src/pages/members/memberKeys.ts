import type { Schema } from "../../api/client";

/** The active keys that a member created, which are revoked when the member is removed. */
export function activeKeysOf(keys: Schema["KeyView"][], accountId: string): Schema["KeyView"][] {
  return keys.filter((key) => key.created_by === accountId && key.state !== "revoked");
}
