import { describe, expect, it } from "vitest";

import type { Schema } from "../api/client";
import { baselineModels, baselineOf, priceText } from "./baseline";

describe("baselineOf", () => {
  it("prefers the workspace to the gateway", () => {
    expect(baselineOf({ default_model: "a" }, { default_model: "b" })).toBe("a");
    expect(baselineOf({ default_model: null }, { default_model: "b" })).toBe("b");
    expect(baselineOf({ default_model: null }, { default_model: null })).toBeNull();
  });
});

describe("baselineModels", () => {
  it("lists chat models, those with a price first", () => {
    const model = (name: string, kind: string, priced: boolean) =>
      ({ name, kind, targets: [{ price: priced ? {} : undefined }] }) as unknown as Schema["ModelView"];
    const models = [
      model("a", "chat", false),
      model("e", "embeddings", true),
      model("c", "chat", true),
      model("b", "chat", true),
    ];
    expect(baselineModels(models)).toEqual(["b", "c", "a"]);
  });
});

describe("priceText", () => {
  it("shows the price of the cheapest target, or nothing", () => {
    const target = (input: string, output: string) => ({
      price: { input_per_mtok_usd: input, output_per_mtok_usd: output },
    });
    const model = { targets: [target("10", "40"), target("2", "8"), {}] } as unknown as Schema["ModelView"];
    expect(priceText(model)).toBe("$2 in, $8 out per million");
    expect(priceText(undefined)).toBe("");
  });
});
