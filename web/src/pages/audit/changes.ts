/** One setting that a change touched. */
export interface Change {
  /** Where it is, with dots between: limits.concurrent. */
  field: string;
  /** Undefined when there was none. */
  before?: string;
  after?: string;
}

/** Lists the settings in which two states differ, in the order in which they stand. */
export function changesOf(before: unknown, after: unknown): Change[] {
  const old = flatten(before);
  const now = flatten(after);
  const fields = [...new Set([...old.keys(), ...now.keys()])];
  return fields
    .map((field) => ({ field, before: old.get(field), after: now.get(field) }))
    .filter((change) => change.before !== change.after);
}

/** Writes every value with its path. Lists stay whole: which of their items moved says little. */
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
  return into.set(path, plain(value));
}

/** Writes a value as people read it: a list of words with commas between. */
function plain(value: unknown): string {
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
  "workspace.create": "created the workspace",
  "workspace.update": "changed the workspace",
  "workspace.pin_embedding": "fixed the embedding model",
  "member.role": "changed a role",
  "member.remove": "removed a member",
  "invitation.create": "made an invitation",
  "invitation.accept": "accepted an invitation",
  "invitation.revoke": "ended an invitation",
  "key.create": "created a key",
  "key.update": "changed a key",
  "key.rotate": "rotated a key",
  "key.revoke": "revoked a key",
  "requests.sample": "created sample traffic",
  "credential.add": "added a credential",
  "credential.remove": "removed a credential",
  "provider.update": "switched a provider",
  "provider.reset": "reset a provider’s circuits",
  "requests.delete": "deleted requests",
  "price.set": "set a price",
  "price.delete": "removed a price",
  "account.sessions": "signed other browsers out",
  "policies.save": "changed the policies",
  "policies.rollback": "rolled the policies back",
  "request.rate": "rated an answer",
  "feedback.reset": "reset ratings",
};

/** Writes an action in words; one that is not known stays as it is. */
export function actionWords(action: string): string {
  return actions[action] ?? action;
}

/** Writes changes on one line. */
export function summary(changes: Change[], most = 2): string {
  const words = changes.slice(0, most).map(({ field, before, after }) => {
    const name = fieldWords(field);
    if (before === undefined) {
      return `${name} ${after}`;
    }
    return after === undefined ? `without ${name}` : `${name} ${before} → ${after}`;
  });
  return words.join(", ") + (changes.length > most ? ` and ${changes.length - most} more` : "");
}

/** Writes the path of a setting as people read it: budget.amount_usd becomes "budget amount". */
function fieldWords(field: string): string {
  return field.replace(/_usd\b/g, "").replace(/[._]/g, " ");
}

/** What people call an object, where its settings or the names at hand tell. */
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
  const told = event.object_label !== event.object && event.object_label;
  return told || (names[event.object] ?? kindName(event));
}

const kinds: Record<string, string> = { inv: "invitation", key: "key", acc: "account", ws: "workspace" };

/** What an object is, where it has no name: "developer invitation", or the end of its id. */
function kindName({ object, before, after }: { object: string; before?: unknown; after?: unknown }): string {
  const [, prefix = "", rest = ""] = /^([a-z]+)_([0-9A-Z]{26})$/.exec(object) ?? [];
  const kind = kinds[prefix];
  if (!kind) {
    return object;
  }
  const { role } = { ...(before as object), ...(after as object) } as { role?: unknown };
  return typeof role === "string" && role ? `${role} ${kind}` : `${kind} …${rest.slice(-4)}`;
}
