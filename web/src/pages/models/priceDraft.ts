import type { Schema } from "../../api/client";
import { nanoText, parseNano } from "../../lib/money";
import type { Price } from "./models";

/** The fields of the form, as they are typed. */
export interface PriceDraft {
  input: string;
  output: string;
  cacheRead: string;
}

/** The form for a price that holds now; empty where none is known. */
export function priceDraft(price: Price | undefined): PriceDraft {
  return {
    input: price?.input_per_mtok_usd ?? "",
    output: price?.output_per_mtok_usd ?? "",
    cacheRead: price?.cache_read_per_mtok_usd ?? "",
  };
}

/** The fields that hold no amount; only the cache may be empty. */
export function wrongPrices(draft: PriceDraft): Set<keyof PriceDraft> {
  const wrong = new Set<keyof PriceDraft>();
  for (const name of ["input", "output", "cacheRead"] as const) {
    const empty = draft[name].trim() === "";
    if (empty ? name !== "cacheRead" : amount(draft[name]) === undefined) {
      wrong.add(name);
    }
  }
  return wrong;
}

/** What is sent for a draft without wrong fields. */
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
