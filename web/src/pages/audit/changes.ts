/** One changed setting. */
export interface Change {
  /** Path of the setting: limits.concurrent. */
  field: string;
  /** Undefined when the setting did not exist. */
  before?: string;
  after?: string;
}

/** Lists the settings that differ between two states, in their order. */
export function changesOf(before: unknown, after: unknown): Change[] {
  const old = flatten(before);
  const now = flatten(after);
  const fields = [...new Set([...old.keys(), ...now.keys()])];
  return fields
    .map((field) => ({ field, before: old.get(field), after: now.get(field) }))
    .filter((change) => change.before !== change.after);
}

/** Maps the path of every value to its text. Lists are kept whole. */
function flatten(value: unknown, path = "", into = new Map<string, string>()): Map<string, string> {
  if (value === undefined || value === null) {
    return into;
  }
  if (typeof value === "object" && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value)) {
      flatten(inner, path ? `${path}.${name}` : name, into);
    }
    return into;
  }
  return into.set(path, formatValue(value));
}

/** Formats a value; a list of strings is joined with commas. */
function formatValue(value: unknown): string {
  if (typeof value === "string") {
    return value;
  }
  const words = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
  return words ? (value as string[]).join(", ") : JSON.stringify(value);
}

const actions: Record<string, string> = {
  "account.register": "registered",
  "account.update": "changed their account",
  "account.password": "changed a password",
  "account.delete": "deleted their account",
  "account.link": "linked an account to the identity provider",
  "account.second_factor_enable": "enabled two-factor authentication",
  "account.second_factor_disable": "disabled two-factor authentication",
  "account.second_factor_reset": "reset two-factor authentication",
  "account.passkey_add": "added a passkey",
  "account.passkey_rename": "renamed a passkey",
  "account.passkey_remove": "removed a passkey",
  "account.passkey_refused": "tried to sign in with a passkey whose counter did not increase",
  "account.recovery_codes_renew": "replaced recovery codes",
  "account.recovery_code_use": "used a recovery code",
  "sign_in.refused": "rejected a sign-in",
  "session.refused": "ended the sessions of an account",
  "workspace.create": "created the workspace",
  "workspace.update": "changed the workspace",
  "workspace.pin_embedding": "pinned the embedding model",
  "member.join": "added a member through group mapping",
  "member.role": "changed a role",
  "member.remove": "removed a member",
  "invitation.create": "created an invitation",
  "invitation.accept": "accepted an invitation",
  "invitation.revoke": "revoked an invitation",
  "key.create": "created a key",
  "key.update": "changed a key",
  "key.rotate": "rotated a key",
  "key.revoke": "revoked a key",
  "credential.add": "added a credential",
  "credential.rotate": "rotated a credential",
  "credential.remove": "removed a credential",
  "provider.create": "connected a provider",
  "provider.delete": "removed a provider",
  "provider.update": "changed a provider",
  "provider.reset": "reset a provider’s circuit breakers",
  "requests.delete": "deleted requests",
  "price.set": "set a price",
  "price.refresh": "changed the refresh of prices",
  "price.decide": "decided on a listed price",
  "price.delete": "removed a price",
  "account.sessions": "signed out other sessions",
  "route.create": "created a route",
  "route.update": "changed a route",
  "route.delete": "deleted a route",
  "pool.changed": "changed the default pool",
  "policies.save": "changed the policies",
  "policies.rollback": "rolled back the policies",
  "request.rate": "rated a response",
  "alert_rule.create": "added an alert rule",
  "alert_rule.update": "changed an alert rule",
  "alert_rule.delete": "deleted an alert rule",
  "alert_channel.create": "added an alert channel",
  "alert_channel.update": "changed an alert channel",
  "alert_channel.delete": "deleted an alert channel",
  "alert_channel.test": "tested an alert channel",
  "learning.update": "changed the learning settings",
  "learning.reset": "reset the learned abilities",
};

/** Describes an action; an unknown one is returned unchanged. */
export function actionWords(action: string): string {
  return actions[action] ?? action;
}

/** Summarises changes on one line. */
export function summary(changes: Change[], most = 2): string {
  const words = changes.slice(0, most).map(({ field, before, after }) => {
    const name = fieldWords(field);
    if (before === undefined) {
      return `${name} ${after}`;
    }
    return after === undefined ? `removed ${name}` : `${name} ${before} → ${after}`;
  });
  return words.join(", ") + (changes.length > most ? ` and ${changes.length - most} more` : "");
}

/** Formats the path of a setting: budget.amount_usd becomes "budget amount". */
function fieldWords(field: string): string {
  return field.replace(/_usd\b/g, "").replace(/[._]/g, " ");
}

/** The display name of an object, from its settings or a map of names. */
export function objectName(
  event: { object: string; object_label?: string; before?: unknown; after?: unknown },
  names: Record<string, string> = {},
): string {
  for (const state of [event.after, event.before]) {
    const { name, email } = (state ?? {}) as { name?: unknown; email?: unknown };
    if (typeof name === "string" && name) {
      return name;
    }
    if (typeof email === "string" && email) {
      return email;
    }
  }
  const label = event.object_label !== event.object && event.object_label;
  return label || (names[event.object] ?? kindName(event));
}

const kinds: Record<string, string> = { inv: "invitation", key: "key", acc: "account", ws: "workspace" };

/** Describes an object without a name: "developer invitation", or its kind with the end of its id. */
function kindName({ object, before, after }: { object: string; before?: unknown; after?: unknown }): string {
  const [, prefix = "", rest = ""] = /^([a-z]+)_([0-9A-Z]{26})$/.exec(object) ?? [];
  const kind = kinds[prefix];
  if (!kind) {
    return object;
  }
  const { role } = { ...(before as object), ...(after as object) } as { role?: unknown };
  return typeof role === "string" && role ? `${role} ${kind}` : `${kind} …${rest.slice(-4)}`;
}
