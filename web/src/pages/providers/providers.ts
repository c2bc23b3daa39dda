import type { Schema } from "../../api/client";
import type { IconName } from "../../components/Icon";
import { plural } from "../../lib/numbers";

/** A configured provider with its health. */
export type Provider = Schema["ProviderView"];
/** What is shown of a credential. */
export type Credential = Schema["CredentialView"];

/** Where a provider comes from, in words. */
export function sourceText(source: string): string {
  const words: Record<string, string> = {
    env: "found in the environment",
    file: "from the configuration file",
    detected: "found on this machine",
    dashboard: "added in the dashboard",
    simulator: "built in",
  };
  return words[source] ?? source;
}

/** How the health of a provider looks: icon, word and colour. */
export function healthLook(p: Provider): { icon: IconName; colour: string; word: string } {
  if (!p.enabled) {
    return { icon: "ban", colour: "gray", word: "off" };
  }
  switch (p.health) {
    case "ok":
      return { icon: "check", colour: "green", word: "healthy" };
    case "degraded":
      return { icon: "activity", colour: "orange", word: "degraded" };
    case "recovering":
      return { icon: "refresh", colour: "orange", word: "recovering" };
    case "down":
      return { icon: "alert", colour: "red", word: "down" };
    case "unknown":
      return { icon: "circle", colour: "gray", word: "not called lately" };
  }
}

/** The targets whose circuit is not closed, those that are open first. */
export function troubled(p: Provider): Provider["targets"] {
  return p.targets
    .filter((t) => t.health.circuit !== "closed")
    .sort((a, b) => Number(b.health.circuit === "open") - Number(a.health.circuit === "open"));
}

/** Reports whether there is anything that a reset would end. */
export function needsReset(p: Provider): boolean {
  return troubled(p).length > 0 || p.credentials.some((c) => c.resting_until != null);
}

/** Where a credential comes from, and so where it can be changed. */
export function credentialSource(source: string): { name: string; fixed: string | null } {
  if (source === "dashboard") {
    return { name: "dashboard", fixed: null };
  }
  if (source === "file") {
    return {
      name: "configuration file",
      fixed: "It comes from the configuration file and is changed there.",
    };
  }
  const name = source.replace(/^env /, "");
  return { name, fixed: `It comes from the environment variable ${name} and is changed there.` };
}

/** What a test found, in one sentence. */
export function testText(result: Schema["ProviderTest"]): string {
  const status = result.status == null ? "" : ` (status ${result.status})`;
  if (!result.ok) {
    return `${result.error ?? "No reason was given."}${status}`;
  }
  return `Answered with ${plural(result.models.length, "model")}.`;
}

const troubles: ReadonlySet<string> = new Set(["down", "degraded", "recovering"]);

/** The order of the page: what needs attention first, then real ones, simulated ones, and those switched off. */
export function inOrder(providers: Provider[]): Provider[] {
  const rank = (p: Provider) => (p.enabled ? (troubles.has(p.health) ? 0 : p.simulated ? 2 : 1) : 3);
  return providers
    .map((p, i) => ({ p, i }))
    .sort((a, b) => rank(a.p) - rank(b.p) || a.i - b.i)
    .map(({ p }) => p);
}

/** The last characters of a secret, marked as the end of something longer. */
export function hintText(hint: string): string {
  return `…${hint.replace(/^…+/, "")}`;
}
