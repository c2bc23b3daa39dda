import type { Schema } from "../api/client";

type Kind = Schema["PriceView"]["price_source"];

const words: Record<Kind, string> = {
  list: "List price",
  override: "Override",
  "provider-reported": "Provider-reported",
  local: "Local, free",
};

const details: Record<Exclude<Kind, "list">, string> = {
  override: "Set for this gateway, in its configuration or on the Models page.",
  "provider-reported": "Cost reported by the provider in its response.",
  local: "Local models are free.",
};

/** The origin of a price: a short label and the detail. */
export function priceOrigin({ price_source: kind, source }: { price_source: Kind; source: string }): {
  word: string;
  detail: string;
} {
  return {
    word: words[kind],
    detail: kind === "list" ? `Compiled from ${source.split("+").join(", ")}.` : details[kind],
  };
}
