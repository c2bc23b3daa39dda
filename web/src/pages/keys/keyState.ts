import type { Schema } from "../../api/client";

type KeyView = Schema["KeyView"];

/** The part of a key that may be shown: its beginning and its last four characters. */
export function keyHint(key: KeyView): string {
  const current = key.secrets.at(-1);
  return current ? `${current.start}…${current.end}` : "—";
}

/** The older secrets of a key that still work. */
export function graceSecrets(key: KeyView, now = Date.now()): Schema["KeySecret"][] {
  return key.secrets.slice(0, -1).filter((s) => !s.expires_at || Date.parse(s.expires_at) > now);
}

/** Whether the key was used in the last 24 hours: revoking such a key asks for its name. */
export function usedLately(key: KeyView, now = Date.now()): boolean {
  return key.last_used_at != null && now - Date.parse(key.last_used_at) < 86_400_000;
}

/** What a key may do, in words. */
export function limitWords(limits: Schema["KeyLimits"]): string[] {
  const words: string[] = [];
  if (limits.requests_per_minute) {
    words.push(`${limits.requests_per_minute.toLocaleString("en-US")} requests/min`);
  }
  if (limits.tokens_per_minute) {
    words.push(`${limits.tokens_per_minute.toLocaleString("en-US")} tokens/min`);
  }
  if (limits.concurrent) {
    words.push(`${limits.concurrent} at a time`);
  }
  return words;
}

/** Says who made a key: nothing while the members are not known. */
export function makerOf(key: KeyView, members: Schema["MemberView"][] | undefined): string {
  if (!key.created_by) {
    return "on the command line";
  }
  const maker = members?.find((member) => member.account_id === key.created_by);
  return maker ? `by ${maker.name || maker.email}` : members ? "by a former member" : "";
}
