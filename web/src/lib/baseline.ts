import type { Schema } from "../api/client";

/** The model that savings are measured against by default; null if none is set: then pages show costs, but no savings. */
export function baselineOf(
  workspace: Pick<Schema["WorkspaceView"], "default_model">,
  settings: Pick<Schema["SettingsView"], "default_model">,
): string | null {
  return workspace.default_model ?? settings.default_model ?? null;
}

/** The models that may be a baseline: chat models, those with a price first. */
export function baselineModels(models: Pick<Schema["ModelView"], "name" | "kind" | "targets">[]): string[] {
  const priced = (m: (typeof models)[number]) => m.targets.some((t) => t.price != null);
  return models
    .filter((m) => m.kind === "chat")
    .sort((a, b) => Number(priced(b)) - Number(priced(a)) || a.name.localeCompare(b.name))
    .map((m) => m.name);
}
