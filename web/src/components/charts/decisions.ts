import type { Bin } from "./points";
import type { Fill } from "./patterns";

/** Appearance of a decision in charts: the same order, pattern and colour everywhere. */
export interface DecisionLook {
  name: "expected" | "fallback" | "policy";
  fill: Fill;
  colour: string;
  count: (bin: Bin) => number;
}

/** The decisions from the bottom of a bar to its top. */
export const decisionLooks: DecisionLook[] = [
  { name: "expected", fill: "solid", colour: "var(--fl-expected)", count: (bin) => bin.expected },
  { name: "fallback", fill: "hatched", colour: "var(--fl-fallback)", count: (bin) => bin.fallbacks },
  { name: "policy", fill: "crossed", colour: "var(--fl-policy)", count: (bin) => bin.policies },
];

/** One bar of the decision chart. */
export interface DecisionPoint {
  at: string;
  expected: number;
  fallback: number;
  policy: number;
}

/** Computes the bars of the decision chart. */
export function decisionPoints(series: Bin[]): DecisionPoint[] {
  return series.map((bin) => ({
    at: bin.start,
    expected: bin.expected,
    fallback: bin.fallbacks,
    policy: bin.policies,
  }));
}

/** One segment of a bar, in requests or percent. */
export interface Segment {
  look: DecisionLook;
  from: number;
  to: number;
}

/** Stacks the decisions of a bucket, as counts or as shares of their sum. */
export function stack(point: DecisionPoint, percent?: boolean): Segment[] {
  const total = decisionLooks.reduce((sum, look) => sum + point[look.name], 0);
  const unit = percent ? (total > 0 ? 100 / total : 0) : 1;
  let from = 0;
  return decisionLooks.map((look) => {
    const segment = { look, from, to: from + point[look.name] * unit };
    from = segment.to;
    return segment;
  });
}
