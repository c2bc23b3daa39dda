import type { Schema } from "../../api/client";

/** A catalog model. */
export type CatalogModel = Schema["CatalogModelView"];

/** The quantity on the horizontal axis. */
export type Axis = "price" | "speed";

/** A model in the chart. x is dollars or milliseconds. */
export interface Point {
  model: CatalogModel;
  x: number;
  /** Predicted quality, 0 to 1. */
  y: number;
}

/** The models that have both values, from left to right. An empty task stands for all task types. */
export function pointsOf(models: CatalogModel[], axis: Axis, task: string): Point[] {
  return models
    .filter((m) => m.kind === "chat" && (!m.deprecated || m.requests > 0))
    .flatMap((model) => {
      const x = axis === "price" ? priceOf(model) : model.ttft_p50_ms;
      const y = task ? model.tasks[task] : model.quality?.mean;
      return x == null || y == null ? [] : [{ model, x, y }];
    })
    .sort((a, b) => a.x - b.x || b.y - a.y || a.model.name.localeCompare(b.model.name));
}

function priceOf(model: CatalogModel): number | null {
  return model.price ? Number(model.price.typical_per_mtok_usd) : null;
}

/** The points that no other point beats on both axes, from left to right. */
export function frontier(points: Point[]): Point[] {
  let best = -1;
  return points.filter((p) => {
    const better = p.y > best;
    best = Math.max(best, p.y);
    return better;
  });
}

/** Maps values to pixels. Zero is at the left edge of a logarithmic axis. */
export interface Scale {
  at: (value: number) => number;
  ticks: number[];
}

/** A logarithmic scale over the positive values, widened to 1, 2 or 5 times a power of ten. */
export function logScale(values: number[], length: number): Scale {
  const positive = values.filter((v) => v > 0);
  const low = nice(Math.min(...(positive.length > 0 ? positive : [1])), -1);
  const high = Math.max(nice(Math.max(...(positive.length > 0 ? positive : [1])), 1), low * 10);
  const edge = values.some((v) => v <= 0) ? 24 : 0;
  const at = (v: number) =>
    v <= 0 ? 0 : edge + ((Math.log(v) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (length - edge);
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const digit of [1, 2, 5]) {
      const tick = Number((digit * 10 ** power).toPrecision(1));
      if (tick >= low * 0.999 && tick <= high * 1.001) {
        ticks.push(tick);
      }
    }
  }
  const step = length / ticks.length < 42 ? 3 : 1; // narrow screens show only powers of ten
  return { at, ticks: ticks.filter((t) => step === 1 || String(t).replace(/[.0]/g, "") === "1") };
}

function nice(value: number, direction: -1 | 1): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = direction < 0 ? [5, 2, 1] : [1, 2, 5, 10];
  const digit = steps.find((d) => (direction < 0 ? d * power <= value : d * power >= value)) ?? 1;
  return Number((digit * power).toPrecision(1));
}

/** A linear scale of qualities that grows upwards. */
export function qualityScale(values: number[], length: number): Scale {
  const low = Math.floor(Math.min(...values, 1) * 10) / 10;
  const high = Math.max(Math.ceil(Math.max(...values, 0) * 10) / 10, low + 0.1);
  const ticks = Array.from({ length: Math.round((high - low) * 10) + 1 }, (_, i) =>
    Number((low + i / 10).toFixed(1)),
  );
  return { at: (v) => length - ((v - low) / (high - low)) * length, ticks };
}

/** The radius of a point: its area grows with the share of requests. */
export function radiusOf(requests: number, most: number): number {
  return requests === 0 || most === 0 ? 4 : 5 + 15 * Math.sqrt(requests / most);
}

const letterWidth = 6.4;

/** The name of a model beside its point. */
export interface Label {
  name: string;
  left: number;
  baseline: number;
}

/**
 * Names of the eight models with the most traffic, then of the best ones, above or below their points. A name that would cover another
 * name or a bubble is omitted.
 */
export function labelsOf(
  points: Point[],
  best: Point[],
  x: (v: number) => number,
  y: (v: number) => number,
  width: number,
): Label[] {
  const used = points.filter((p) => p.model.requests > 0).sort((a, b) => b.model.requests - a.model.requests);
  const most = used[0]?.model.requests ?? 0;
  const taken = used.map((p) => {
    const radius = radiusOf(p.model.requests, most);
    return { left: x(p.x) - radius, right: x(p.x) + radius, top: y(p.y) - radius, bottom: y(p.y) + radius };
  });
  const labels: Label[] = [];
  for (const { model, ...at } of new Set([...used.slice(0, 8), ...best])) {
    const size = model.name.length * letterWidth;
    const left = Math.max(0, Math.min(width - size, x(at.x) - size / 2));
    const radius = radiusOf(model.requests, most);
    for (const baseline of [y(at.y) - radius - 4, y(at.y) + radius + 11]) {
      const box = { left, right: left + size, top: baseline - 9, bottom: baseline + 3 };
      if (
        !taken.some(
          (o) => o.left < box.right && box.left < o.right && o.top < box.bottom && box.top < o.bottom,
        )
      ) {
        taken.push(box);
        labels.push({ name: model.name, left, baseline });
        break;
      }
    }
  }
  return labels;
}

/** The point that an arrow key leads to: left and right by x, up and down by y. */
export function neighbour(points: Point[], at: number, key: string): number {
  const last = points.length - 1;
  switch (key) {
    case "ArrowRight":
      return Math.min(at + 1, last);
    case "ArrowLeft":
      return Math.max(at - 1, 0);
    case "Home":
      return 0;
    case "End":
      return last;
    case "ArrowUp":
    case "ArrowDown": {
      const byQuality = points.map((p, i) => ({ p, i })).sort((a, b) => a.p.y - b.p.y || b.i - a.i);
      const rank = byQuality.findIndex(({ i }) => i === at);
      const next = byQuality[rank + (key === "ArrowUp" ? 1 : -1)];
      return next ? next.i : at;
    }
    default:
      return at;
  }
}
