import { useId } from "react";

import { ChartTooltip } from "../../components/charts/ChartTooltip";
import { Pattern } from "../../components/charts/patterns";
import { Plot, type Scale } from "../../components/charts/Plot";
import { axisMoney } from "../../components/charts/points";
import classes from "../../components/charts/charts.module.css";
import { valueTicks } from "../../components/charts/ticks";
import { type BurnPoint, burnPoints, chartTop, evenPoints } from "./points";
import type { BudgetDetail } from "./query";

/** Spending over time with the even pace, the forecast and its range; a line marks the budget. */
export default function BurnDownChart({ budget }: { budget: BudgetDetail }) {
  const id = useId();
  const amount = Number(budget.amount_usd);
  const { points, stepMs } = evenPoints(burnPoints(budget));
  const ticks = valueTicks(chartTop(points, amount));
  const top = ticks.at(-1) ?? amount;
  return (
    <Plot
      label="Spending against the budget"
      series={points.map(({ at }) => ({ start: new Date(at).toISOString() }))}
      stepMs={stepMs}
      ticks={ticks}
      format={axisMoney}
      tooltip={(i) => points[i] && <BurnTooltip point={points[i]} stepMs={stepMs} />}
    >
      {(scale) => (
        <>
          <defs>
            <Pattern id={`${id}-range`} fill="hatched" colour="var(--fl-policy)" />
          </defs>
          <path d={range(points, scale, top)} fill={`url(#${id}-range)`} />
          <path
            d={line(points, "pace", scale, top)}
            className={classes.line}
            stroke="var(--fl-baseline)"
            strokeDasharray="2 4"
          />
          <path
            d={line(points, "expected", scale, top)}
            className={classes.line}
            stroke="var(--fl-policy)"
            strokeDasharray="6 3"
          />
          <path d={line(points, "spent", scale, top)} className={classes.line} stroke="var(--fl-spend)" />
          <line
            x2={scale.band * points.length}
            y1={scale.y(amount)}
            y2={scale.y(amount)}
            stroke="var(--fl-extra)"
            strokeWidth={2}
          />
        </>
      )}
    </Plot>
  );
}

/** A line through the points that have the value. Values above the top of the chart are drawn at the top. */
function line(
  points: BurnPoint[],
  name: "spent" | "pace" | "expected",
  { x, y }: Scale,
  top: number,
): string {
  const known = points.flatMap((point, i) => {
    const value = point[name];
    return value === undefined ? [] : [`${x(i).toFixed(1)} ${y(Math.min(value, top)).toFixed(1)}`];
  });
  return known.length === 0 ? "" : `M${known.join("L")}`;
}

/** The surface of the 80 % range. */
function range(points: BurnPoint[], { x, y }: Scale, top: number): string {
  const upper: string[] = [];
  const lower: string[] = [];
  points.forEach((point, i) => {
    if (point.range) {
      lower.unshift(`${x(i).toFixed(1)} ${y(Math.min(point.range[0], top)).toFixed(1)}`);
      upper.push(`${x(i).toFixed(1)} ${y(Math.min(point.range[1], top)).toFixed(1)}`);
    }
  });
  return upper.length === 0 ? "" : `M${[...upper, ...lower].join("L")}Z`;
}

function BurnTooltip({ point, stepMs }: { point: BurnPoint; stepMs: number }) {
  const values: [string, string][] = [];
  if (point.spent !== undefined) {
    values.push(["Spent", axisMoney(point.spent)]);
  } else if (point.expected !== undefined) {
    values.push(["Forecast", axisMoney(point.expected)]);
  }
  if (point.range && point.spent === undefined) {
    values.push(["80 % range", `${axisMoney(point.range[0])} to ${axisMoney(point.range[1])}`]);
  }
  if (point.pace !== undefined) {
    values.push(["Even pace", axisMoney(point.pace)]);
  }
  return <ChartTooltip at={new Date(point.at).toISOString()} stepMs={stepMs} lines={values} />;
}
