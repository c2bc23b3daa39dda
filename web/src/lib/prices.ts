import type { Schema } from "../api/client";

type Kind = Schema["PriceView"]["price_source"];

const words: Record<Kind, string> = {
  list: "List price",
  override: "Override",
  "provider-reported": "Provider-reported",
  local: "Local, free",
};

const details: Record<Exclude<Kind, "list">, string> = {
  override: "Set on this gateway, in its configuration or under Models.",
  "provider-reported": "The amount that the provider told with its answer.",
  local: "A model on this machine costs nothing per token.",
};

/** Where a price comes from: its kind in words, and exactly. */
export function priceOrigin({ price_source: kind, source }: { price_source: Kind; source: string }): {
  word: string;
  detail: string;
} {
  return {
    word: words[kind],
    detail: kind === "list" ? `Compiled from ${source.split("+").join(", ")}.` : details[kind],
  };
}
