import type { Schema } from "../../api/client";

type KeyView = Schema["KeyView"];

/** The visible part of a key: its start and its last four characters. */
export function keyHint(key: KeyView): string {
  const current = key.secrets.at(-1);
  return current ? `${current.start}…${current.end}` : "—";
}

/** The rotated secrets of a key that are still valid. */
export function graceSecrets(key: KeyView, now = Date.now()): Schema["KeySecret"][] {
  return key.secrets.slice(0, -1).filter((s) => !s.expires_at || Date.parse(s.expires_at) > now);
}

/** Reports whether a key was used in the last 24 hours; revoking such a key requires its name. */
export function usedRecently(key: KeyView, now = Date.now()): boolean {
  return key.last_used_at != null && now - Date.parse(key.last_used_at) < 86_400_000;
}

/** Describes the rate limits of a key. */
export function limitLabels(limits: Schema["KeyLimits"]): string[] {
  const words: string[] = [];
  if (limits.requests_per_minute) {
    words.push(`${limits.requests_per_minute.toLocaleString("en-US")} requests/min`);
  }
  if (limits.tokens_per_minute) {
    words.push(`${limits.tokens_per_minute.toLocaleString("en-US")} tokens/min`);
  }
  if (limits.concurrent) {
    words.push(`${limits.concurrent} concurrent`);
  }
  return words;
}

/** Describes the creator of a key; empty while the members are loading. */
export function creatorOf(key: KeyView, members: Schema["MemberView"][] | undefined): string {
  if (!key.created_by) {
    return "from the command line";
  }
  const creator = members?.find((member) => member.account_id === key.created_by);
  return creator ? `by ${creator.name || creator.email}` : members ? "by a former member" : "";
}
