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

/** The list price of a model's cheapest target per million tokens: "$2 in, $10 out"; empty if unknown. */
export function priceText(model: Pick<Schema["ModelView"], "targets"> | undefined): string {
  const prices = (model?.targets ?? []).flatMap((t) => (t.price ? [t.price] : []));
  const [price] = prices.sort((a, b) => Number(a.input_per_mtok_usd) - Number(b.input_per_mtok_usd));
  return price ? `$${price.input_per_mtok_usd} in, $${price.output_per_mtok_usd} out per million` : "";
}
