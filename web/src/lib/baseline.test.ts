import { describe, expect, it } from "vitest";

import type { Schema } from "../api/client";
import { baselineModels, baselineOf } from "./baseline";

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
