import { describe, expect, it } from "vitest";

import {
  type CatalogModel,
  frontier,
  labelsOf,
  logScale,
  neighbour,
  pointsOf,
  qualityScale,
  radiusOf,
} from "./scatter";

function model(name: string, typical: string | null, mean: number | null, more: Partial<CatalogModel> = {}) {
  return {
    name,
    kind: "chat",
    deprecated: false,
    requests: 0,
    ttft_p50_ms: null,
    tasks: {},
    price: typical === null ? undefined : { typical_per_mtok_usd: typical },
    quality: mean === null ? undefined : { mean },
    ...more,
  } as CatalogModel;
}

const models = [
  model("large", "10", 0.9, { ttft_p50_ms: 900, tasks: { code: 0.95 } }),
  model("small", "0.5", 0.6, { ttft_p50_ms: 200, tasks: { code: 0.4 } }),
  model("dear", "12", 0.7),
  model("free", "0", 0.3),
  model("unpriced", null, 0.8),
  model("unknown", "1", null),
  model("old", "1", 0.5, { deprecated: true }),
  model("old-used", "1", 0.65, { deprecated: true, requests: 3 }),
  model("embed", "0.1", 0.5, { kind: "embeddings" }),
];
const names = (list: { model: CatalogModel }[]) => list.map((p) => p.model.name);

describe("pointsOf", () => {
  it("leaves out models without a value, from left to right", () => {
    expect(names(pointsOf(models, "price", ""))).toEqual(["free", "small", "old-used", "large", "dear"]);
    expect(names(pointsOf(models, "speed", ""))).toEqual(["small", "large"]);
  });

  it("uses the quality of a task type", () => {
    expect(pointsOf(models, "price", "code").map((p) => p.y)).toEqual([0.4, 0.95]);
  });
});

it("the frontier contains the models that no cheaper model equals", () => {
  expect(names(frontier(pointsOf(models, "price", "")))).toEqual(["free", "small", "old-used", "large"]);
});

describe("scales", () => {
  it("place zero at the edge and powers evenly", () => {
    const { at, ticks } = logScale([0, 0.1, 10], 324);
    expect(at(0)).toBe(0);
    expect(at(0.1)).toBeCloseTo(24);
    expect(at(1)).toBeCloseTo(174);
    expect(at(10)).toBeCloseTo(324);
    expect(ticks).toEqual([0.1, 0.2, 0.5, 1, 2, 5, 10]);
    expect(logScale([0.1, 10], 200).ticks).toEqual([0.1, 1, 10]); // narrow screens show only powers of ten
  });

  it("have ticks without values", () => {
    expect(logScale([], 100).ticks.length).toBeGreaterThan(0);
    expect(qualityScale([], 100).ticks.length).toBeGreaterThan(1);
  });

  it("grow upwards", () => {
    const { at, ticks } = qualityScale([0.42, 0.87], 100);
    expect(ticks).toEqual([0.4, 0.5, 0.6, 0.7, 0.8, 0.9]);
    expect(at(0.4)).toBeCloseTo(100);
    expect(at(0.9)).toBeCloseTo(0);
  });
});

it("the area of a bubble grows with the requests", () => {
  expect(radiusOf(0, 100)).toBe(4);
  expect(radiusOf(100, 100)).toBe(20);
  expect(radiusOf(25, 100)).toBe(12.5);
});

describe("arrow keys", () => {
  const points = pointsOf(models, "price", "");
  it.each([
    [0, "ArrowRight", 1],
    [4, "ArrowRight", 4],
    [0, "ArrowLeft", 0],
    [3, "Home", 0],
    [0, "End", 4],
    [1, "ArrowUp", 2],
    [3, "ArrowUp", 3],
    [3, "ArrowDown", 4],
    [2, "Enter", 2],
  ])("from %d, %s leads to %d", (from, key, to) => expect(neighbour(points, from, key)).toBe(to));
});

describe("labelsOf", () => {
  const at = (value: number) => value;
  const point = (name: string, x: number, y: number, requests = 0) => ({
    x,
    y,
    model: model(name, "1", 0.5, { requests }),
  });

  it("names a used model above its bubble and keeps the name inside the drawing", () => {
    expect(labelsOf([point("large", 100, 50, 10)], [], at, at, 200)).toEqual([
      { name: "large", left: 84, baseline: 26 },
    ]);
    expect(labelsOf([point("large", 0, 50, 10)], [], at, at, 200)[0]?.left).toBe(0);
    expect(labelsOf([point("large", 200, 50, 10)], [], at, at, 200)[0]?.left).toBe(168);
  });

  it("names the less used of two close models below its bubble", () => {
    const points = [point("first", 100, 50, 10), point("second", 104, 52, 9)];
    expect(
      labelsOf(points, [], at, at, 200).map(({ name, baseline }) => [name, Math.round(baseline)]),
    ).toEqual([
      ["first", 26],
      ["second", 82],
    ]);
  });

  it("omits a name that has no free place", () => {
    const crowd = [0, 1, 2].map((i) => point(`model-${i}`, 100 + i, 50, 10 - i));
    expect(labelsOf(crowd, [], at, at, 200)).toHaveLength(2);
    const best = point("best", 102, 50);
    expect(labelsOf([...crowd, best], [best], at, at, 200).map(({ name }) => name)).not.toContain("best");
  });

  it("names the best models without traffic", () => {
    const best = point("best", 60, 20);
    expect(labelsOf([best, point("other", 150, 90)], [best], at, at, 200).map(({ name }) => name)).toEqual([
      "best",
    ]);
  });
});
