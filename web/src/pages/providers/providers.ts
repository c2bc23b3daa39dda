import type { Schema } from "../../api/client";
import type { IconName } from "../../components/Icon";
import { plural } from "../../lib/numbers";

/** A configured provider with its health. */
export type Provider = Schema["ProviderView"];
/** A credential without its secret. */
export type Credential = Schema["CredentialView"];

/** Describes the source of a provider. */
export function sourceText(source: string): string {
  const words: Record<string, string> = {
    env: "Environment variable",
    file: "Configuration file",
    detected: "Detected local server",
    dashboard: "Added in the dashboard",
    simulator: "Built in",
  };
  return words[source] ?? source;
}

/** Why the settings of a provider cannot be changed here; null if they can. */
export function lockText(p: Pick<Provider, "managed_by" | "source">): string | null {
  switch (p.managed_by) {
    case "dashboard":
      return null;
    case "file":
      return "Managed in the configuration file.";
    case "environment":
      return p.source === "env" ? "Managed by environment variables." : "Detected automatically.";
  }
}

/** Badge of a provider's health. */
export function healthLook(p: Provider): { icon: IconName; colour: string; word: string } {
  if (!p.enabled) {
    return { icon: "ban", colour: "gray", word: "Disabled" };
  }
  switch (p.health) {
    case "ok":
      return { icon: "check", colour: "green", word: "Healthy" };
    case "degraded":
      return { icon: "activity", colour: "orange", word: "Degraded" };
    case "recovering":
      return { icon: "refresh", colour: "orange", word: "Recovering" };
    case "down":
      return { icon: "alert", colour: "red", word: "Down" };
    case "unknown":
      return { icon: "circle", colour: "gray", word: "No recent calls" };
  }
}

/** The targets whose circuit is not closed, open ones first. */
export function unhealthyTargets(p: Provider): Provider["targets"] {
  return p.targets
    .filter((t) => t.health.circuit !== "closed")
    .sort((a, b) => Number(b.health.circuit === "open") - Number(a.health.circuit === "open"));
}

/** The number of models, and how many catalog models the account may not use. */
export function modelsText({ available, catalog, targets }: Provider): string {
  return available < catalog
    ? `${available} of ${plural(catalog, "catalog model")} available to this key`
    : plural(targets.length, "model");
}

/** Reports whether a reset has an effect: whether a target is unhealthy or denied, or a credential backs off. */
export function needsReset(p: Provider): boolean {
  const paused = p.targets.some(({ health }) => health.circuit !== "closed" || health.reason != null);
  return paused || p.credentials.some((c) => c.backing_off_until != null);
}

/** The source of a credential, and the reason if the credential cannot be changed here. */
export function credentialSource(source: string): { name: string; fixed: string | null } {
  if (source === "dashboard") {
    return { name: "dashboard", fixed: null };
  }
  if (source === "file") {
    return {
      name: "configuration file",
      fixed: "Managed in the configuration file.",
    };
  }
  const name = source.replace(/^env /, "");
  return { name, fixed: `Set by the environment variable ${name}.` };
}

/** The result of a test in one sentence. */
export function testText(result: Schema["ProviderTest"]): string {
  const status = result.status == null ? "" : ` (status ${result.status})`;
  if (!result.ok) {
    return `${result.error ?? "No error message."}${status}`;
  }
  return `Found ${plural(result.models.length, "model")}.`;
}

const unhealthyStates: ReadonlySet<string> = new Set(["down", "degraded", "recovering"]);

/** Sorts providers: unhealthy, healthy, simulated, disabled. */
export function inOrder(providers: Provider[]): Provider[] {
  const rank = (p: Provider) => (p.enabled ? (unhealthyStates.has(p.health) ? 0 : p.simulated ? 2 : 1) : 3);
  return providers
    .map((p, i) => ({ p, i }))
    .sort((a, b) => rank(a.p) - rank(b.p) || a.i - b.i)
    .map(({ p }) => p);
}

/** The last characters of a secret, after an ellipsis. */
export function hintText(hint: string): string {
  return `…${hint.replace(/^…+/, "")}`;
}
