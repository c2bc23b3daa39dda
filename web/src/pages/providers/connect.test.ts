import { describe, expect, it } from "vitest";

import {
  connectBody,
  type Connection,
  emptyDraft,
  foundText,
  freeName,
  isComplete,
  searchVendors,
  unpricedText,
  type Vendor,
} from "./connect";
import { lockText } from "./providers";

function vendor(name: string, more: Partial<Vendor> = {}): Vendor {
  return {
    name,
    label: name,
    format: "chat",
    key_hint: null,
    key_url: null,
    base_url: null,
    needs_base_url: false,
    needs_key: true,
    models: 1,
    connected: false,
    fields: [],
    ...more,
  };
}

const custom = vendor("custom", { label: "Custom endpoint", needs_base_url: true, needs_key: false });
const bedrock = vendor("bedrock", {
  fields: [{ name: "region", label: "Region", example: "eu-central-1", required: true }],
});

describe("the gallery", () => {
  it("finds vendors by label and name and always offers a custom endpoint", () => {
    const all = [vendor("xai", { label: "xAI" }), vendor("mistral", { label: "Mistral AI" }), custom];
    expect(searchVendors(all, " MISTRAL ").map((v) => v.name)).toEqual(["mistral", "custom"]);
    expect(searchVendors(all, "nothing").map((v) => v.name)).toEqual(["custom"]);
    expect(searchVendors(all, "")).toHaveLength(3);
  });
});

describe("the form", () => {
  it("proposes the next free name", () => {
    expect(freeName("openai", [])).toBe("openai");
    expect(emptyDraft(vendor("openai"), ["openai", "openai-2"]).name).toBe("openai-3");
    expect(emptyDraft(custom, []).name).toBe("");
  });

  it("fills in the usual address of a local server", () => {
    const ollama = { base_url: "http://127.0.0.1:11434/v1", needs_base_url: true, needs_key: false };
    expect(emptyDraft(vendor("ollama", ollama), []).baseUrl).toBe(ollama.base_url);
    expect(emptyDraft({ ...custom, base_url: "https://host/v1" }, []).baseUrl).toBe("");
  });

  it.each([
    ["http://127.0.0.1:11434/v1", true],
    [" http://LOCALHOST:8000 ", true],
    ["http://[::1]/v1", true],
    ["http://localhost.example/v1", false],
    ["http://10.0.0.1:8000/v1", false],
  ])("asks for permission only for %s on this machine", (baseUrl, allowed) => {
    const draft = { ...emptyDraft(custom, []), baseUrl, allowLoopback: true };
    expect("allow_loopback" in connectBody(custom, draft, true)).toBe(allowed);
  });

  it("requires a key, a base URL or an option where the vendor does", () => {
    const draft = emptyDraft(vendor("openai"), []);
    expect(isComplete(vendor("openai"), draft)).toBe(false);
    expect(isComplete(vendor("openai"), { ...draft, key: "sk-1" })).toBe(true);
    expect(isComplete(custom, { ...draft, name: "house" })).toBe(false);
    expect(isComplete(custom, { ...draft, name: "house", baseUrl: "https://host/v1" })).toBe(true);
    expect(isComplete(bedrock, { ...draft, key: "k", options: { region: " " } })).toBe(false);
    expect(isComplete(bedrock, { ...draft, key: "k", options: { region: "eu-central-1" } })).toBe(true);
  });

  it("sends only the filled-in fields", () => {
    const draft = { ...emptyDraft(bedrock, []), key: " key \n", options: { region: " eu ", other: "" } };
    expect(connectBody(bedrock, draft, true)).toEqual({
      vendor: "bedrock",
      name: "bedrock",
      key: "key",
      options: { region: "eu" },
      test: true,
    });
    const house = { ...emptyDraft(custom, []), name: "house", baseUrl: " https://host/v1 ", free: true };
    expect(connectBody(custom, house, false)).toEqual({
      vendor: "custom",
      name: "house",
      base_url: "https://host/v1",
      format: "chat",
      free: true,
      test: false,
    });
  });
});

describe("the result", () => {
  const price = {} as NonNullable<Connection["found"][number]["price"]>;
  const result = (found: Connection["found"], test: Partial<Connection["test"]> = {}) =>
    ({ found, test: { ok: true, tested: true, models: [], error: null, ...test } }) as unknown as Connection;

  it("counts models and prices", () => {
    expect(foundText(result([{ model: "a", price }]))).toBe("Found 1 model, all with a price.");
    const mixed = result([{ model: "a", price }, { model: "b" }]);
    expect(foundText(mixed)).toBe("Found 2 models, 1 with a price.");
    expect(unpricedText(mixed)).toBe(
      "1 model without a price: auto uses a model only after you set its price.",
    );
    expect(unpricedText(result([{ model: "a", price }]))).toBeNull();
    expect(foundText(result([]))).toBe("The test call succeeded, but the provider lists no models.");
  });

  it("does not claim a test that was not made", () => {
    expect(
      foundText(result([{ model: "a", price }], { ok: false, tested: false, error: "Lists no models." })),
    ).toBe("Lists no models. The catalog has 1 model with a price.");
    expect(foundText({ found: [] } as unknown as Connection)).toBe("Connected without a test.");
  });
});

describe("locks", () => {
  it("name the owner of a provider", () => {
    expect(lockText({ managed_by: "dashboard", source: "dashboard" })).toBeNull();
    expect(lockText({ managed_by: "file", source: "file" })).toContain("configuration file");
    expect(lockText({ managed_by: "environment", source: "env" })).toContain("environment variables");
    expect(lockText({ managed_by: "environment", source: "detected" })).toContain("Detected");
  });
});
