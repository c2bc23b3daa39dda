import { describe, expect, it } from "vitest";

import { countdownText } from "../../components/CircuitBadge";
import {
  abilityText,
  bestPrice,
  choiceOf,
  chosenModels,
  formatListPrice,
  isSimulated,
  isUnpriced,
  type Model,
  notableFirst,
  type Target,
  typicalTtft,
  valuesOf,
  withCatalog,
  worstCircuit,
} from "./models";
import type { CatalogModel } from "./scatter";

function target(
  provider: string,
  more: { input?: string; circuit?: string; probe?: string; ttft?: number } = {},
): Target {
  return {
    provider,
    simulated: provider === "simulator",
    price:
      more.input === undefined ? undefined : { input_per_mtok_usd: more.input, output_per_mtok_usd: "1" },
    health: {
      circuit: more.circuit ?? "closed",
      reason: more.circuit === "open" ? "timeout" : null,
      reason_text: more.circuit === "open" ? "timeout" : null,
      next_probe: more.probe ?? null,
      ttft_ms: more.ttft ?? null,
    },
  } as Target;
}

function model(name: string, targets: Target[], more: Partial<Model> = {}): Model {
  return {
    name,
    vendor: "Acme",
    family: "",
    kind: "chat",
    aliases: [],
    abilities: ["tools"],
    targets,
    traffic: { requests: 0, ttft_p50_ms: null },
    ...more,
  } as Model;
}

const used = { requests: 5, ttft_p50_ms: 180 } as Model["traffic"];
const models = [
  model("alpha", [target("openai", { input: "2" })], { abilities: ["tools", "vision"] }),
  model("beta", [target("azure", { input: "1", circuit: "open" }), target("openai", { input: "3" })], {
    traffic: used,
  }),
  model("gamma", [target("local")], { aliases: ["g-latest"] }),
  model("embed", [target("openai", { input: "0.1" })], { kind: "embeddings" }),
];
const names = (search: Record<string, string>) => chosenModels(models, choiceOf(search)).map((m) => m.name);

describe("chosenModels", () => {
  it.each<[Record<string, string>, string[]]>([
    [{}, ["beta", "alpha", "gamma"]],
    [{ kind: "embeddings" }, ["embed"]],
    [{ kind: "nonsense" }, ["beta", "alpha", "gamma"]],
    [{ q: "ALPHA" }, ["alpha"]],
    [{ q: "g-latest" }, ["gamma"]],
    [{ q: "azure acme" }, ["beta"]],
    [{ provider: "openai" }, ["beta", "alpha"]],
    [{ ability: "vision" }, ["alpha"]],
    [{ show: "used" }, ["beta"]],
    [{ show: "unhealthy" }, ["beta"]],
    [{ show: "unpriced" }, ["gamma"]],
    [{ q: "nothing" }, []],
  ])("%o", (search, want) => expect(names(search)).toEqual(want));
});

describe("withCatalog", () => {
  const listed = (name: string, connected: boolean) =>
    ({
      name,
      vendor: "Acme",
      kind: "chat",
      connected,
      abilities: [],
      quality: { mean: 0.5 },
    }) as unknown as CatalogModel;
  const rows = withCatalog(models, [listed("alpha", true), listed("delta", false), listed("stale", true)]);

  it("adds models without a provider after the connected ones", () => {
    expect(chosenModels(rows, choiceOf({})).map((m) => m.name)).toEqual(["beta", "alpha", "gamma", "delta"]);
    expect(chosenModels(rows, choiceOf({ show: "unconnected" })).map((m) => m.name)).toEqual(["delta"]);
    expect(chosenModels(rows, choiceOf({ show: "connected" }))).toHaveLength(3);
  });

  it("adds the predicted quality to connected models", () => {
    expect(rows.find((m) => m.name === "alpha")?.market?.quality?.mean).toBe(0.5);
    expect(rows.find((m) => m.name === "beta")?.market).toBeUndefined();
  });
});

describe("prices", () => {
  it("are the lowest, with a note when others differ", () => {
    const best = bestPrice([target("a", { input: "3" }), target("b"), target("c", { input: "0.5" })]);
    expect(best?.price.input_per_mtok_usd).toBe("0.5");
    expect(best?.differs).toBe(true);
    expect(bestPrice([target("a", { input: "3" })])?.differs).toBe(false);
    expect(bestPrice([target("a")])).toBeUndefined();
  });

  it("are missing only when no target has one", () => {
    expect(isUnpriced(model("m", [target("a"), target("b", { input: "1" })]))).toBe(false);
    expect(isUnpriced(model("m", [target("a")]))).toBe(true);
    expect(isUnpriced(model("m", []))).toBe(false);
  });

  it.each([
    ["0.15", "$0.15"],
    ["0.5", "$0.50"],
    ["0.025", "$0.025"],
    ["0.0375", "$0.0375"],
    ["2.5", "$2.50"],
    ["30", "$30.00"],
    ["0", "free"],
  ])("show %s as %s", (amount, text) => expect(formatListPrice(amount)).toBe(text));
});

describe("worstCircuit", () => {
  it("returns the worst circuit with the earliest probe", () => {
    const worst = worstCircuit([
      target("a"),
      target("b", { circuit: "half_open" }),
      target("c", { circuit: "open", probe: "2026-11-03T12:01:00Z" }),
      target("d", { circuit: "open", probe: "2026-11-03T12:00:30Z" }),
    ]);
    expect(worst).toEqual({
      circuit: "open",
      reason: "timeout",
      nextProbe: "2026-11-03T12:00:30Z",
      part: { of: 4, count: 2 },
    });
  });

  it("is closed without targets", () => expect(worstCircuit([]).circuit).toBe("closed"));
});

describe("typicalTtft", () => {
  it("prefers the last 24 hours over the latest calls", () => {
    expect(typicalTtft(model("m", [target("a", { ttft: 90 })], { traffic: used }))).toBe(180);
    expect(typicalTtft(model("m", [target("a", { ttft: 90 }), target("b", { ttft: 70 })]))).toBe(70);
    expect(typicalTtft(model("m", [target("a")]))).toBeNull();
  });
});

describe("labels", () => {
  it("mark models that exist only in the simulator", () => {
    expect(isSimulated(model("m", [target("simulator")]))).toBe(true);
    expect(isSimulated(model("m", [target("simulator"), target("a")]))).toBe(false);
    expect(isSimulated(model("m", []))).toBe(false);
  });

  it("list distinguishing capabilities first", () => {
    expect(notableFirst(["tools", "json_mode", "vision", "reasoning"])).toEqual([
      "reasoning",
      "vision",
      "tools",
      "json_mode",
    ]);
  });

  it("format capabilities", () => {
    expect(abilityText("json_schema")).toBe("JSON schema");
  });

  it("list each value once", () => {
    expect(valuesOf(models, (m) => m.targets.map((t) => t.provider))).toEqual(["azure", "local", "openai"]);
  });

  it.each([
    [-5, "retrying soon"],
    [11_200, "retry in 12 s"],
    [300_000, "retry in 5 min"],
    [4 * 3_600_000, "retry in 4 h"],
  ])("show %d ms as %s", (ms, text) => expect(countdownText(ms, "retry")).toBe(text));
});
