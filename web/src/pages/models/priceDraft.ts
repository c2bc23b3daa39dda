import type { Schema } from "../../api/client";
import { nanoText, parseNano } from "../../lib/money";
import type { Price } from "./models";

/** The input values of the price form. */
export interface PriceDraft {
  input: string;
  output: string;
  cacheRead: string;
}

/** Creates the draft of a price; empty for a missing price. */
export function priceDraft(price: Price | undefined): PriceDraft {
  return {
    input: price?.input_per_mtok_usd ?? "",
    output: price?.output_per_mtok_usd ?? "",
    cacheRead: price?.cache_read_per_mtok_usd ?? "",
  };
}

/** The fields without a valid amount; only the cache price may be empty. */
export function invalidPrices(draft: PriceDraft): Set<keyof PriceDraft> {
  const wrong = new Set<keyof PriceDraft>();
  for (const name of ["input", "output", "cacheRead"] as const) {
    const empty = draft[name].trim() === "";
    if (empty ? name !== "cacheRead" : amount(draft[name]) === undefined) {
      wrong.add(name);
    }
  }
  return wrong;
}

/** The request body of a valid draft. */
export function priceBody(draft: PriceDraft): Schema["PriceInput"] {
  return {
    input_per_mtok_usd: amount(draft.input) ?? "0",
    output_per_mtok_usd: amount(draft.output) ?? "0",
    cache_read_per_mtok_usd: draft.cacheRead.trim() === "" ? undefined : amount(draft.cacheRead),
  };
}

function amount(text: string): string | undefined {
  try {
    const nano = parseNano(text.replace(/^\$/, ""));
    return nano < 0n ? undefined : nanoText(nano);
  } catch {
    return undefined;
  }
}
