import { useId } from "react";

import { formatMoney } from "../../lib/money";
import { formatCount, formatSaving } from "../../lib/numbers";
import classes from "./charts.module.css";
import { ChartTooltip } from "./ChartTooltip";
import { Pattern } from "./patterns";
import { Plot, type Scale } from "./Plot";
import { axisMoney, type Bin, spendPoints, type SpendPoint } from "./points";
import { valueTicks } from "./ticks";

interface Props {
  series: Bin[];
  stepMs: number;
  /** Start of the bucket that is still running, if any. */
  running?: string;
  /** Whether to show amounts as a share of the baseline. */
  percent?: boolean;
  onZoom: (from: string, to: string) => void;
  onPick: (at: string) => void;
}

/** Spend and baseline over time; the band between them is the saving. */
export default function SpendChart({ series, stepMs, running, percent, onZoom, onPick }: Props) {
  const id = useId();
  const points = spendPoints(series, running, percent);
  const top = Math.max(...points.flatMap((p) => [p.spend ?? 0, p.baseline ?? 0, p.running ?? 0]));
  return (
    <Plot
      label="Spend and baseline over time"
      series={series}
      stepMs={stepMs}
      ticks={valueTicks(top)}
      format={percent ? (n) => `${n} %` : axisMoney}
      tooltip={(i) => points[i] && <SpendTooltip point={points[i]} stepMs={stepMs} running={running} />}
      onZoom={onZoom}
      onPick={onPick}
    >
      {(scale) => (
        <>
          <defs>
            <Pattern id={`${id}-saved`} fill="hatched" colour="var(--fl-saved)" />
            <Pattern id={`${id}-extra`} fill="crossed" colour="var(--fl-extra)" />
          </defs>
          <path d={band(points, "saved", scale)} fill={`url(#${id}-saved)`} />
          <path d={band(points, "extra", scale)} fill={`url(#${id}-extra)`} />
          <path
            d={line(points, "baseline", scale)}
            className={classes.line}
            stroke="var(--fl-baseline)"
            strokeDasharray="5 4"
          />
          <path d={line(points, "spend", scale)} className={classes.line} stroke="var(--fl-spend)" />
          <path
            d={line(points, "running", scale)}
            className={classes.line}
            stroke="var(--fl-spend)"
            strokeDasharray="2 4"
          />
          {points.length < 3 &&
            points.map((p, i) => (
              <circle
                key={p.at}
                cx={scale.x(i)}
                cy={scale.y(p.spend ?? p.running ?? 0)}
                r={4}
                fill="var(--fl-spend)"
              />
            ))}
        </>
      )}
    </Plot>
  );
}

/** A line through the points that have the value. A bucket without the value interrupts the line. */
function line(points: SpendPoint[], name: "spend" | "baseline" | "running", { x, y }: Scale): string {
  let open = false;
  return points
    .map((point, i) => {
      const value = point[name];
      const command = open ? "L" : "M";
      open = value !== undefined;
      return value === undefined ? "" : `${command}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join("");
}

/** The area between the two edges of a band. Each run of buckets with edges is a separate part. */
function band(points: SpendPoint[], name: "saved" | "extra", { x, y }: Scale): string {
  const parts: { upper: string[]; lower: string[] }[] = [];
  points.forEach((point, i) => {
    const edges = point[name];
    if (!edges) {
      return;
    }
    if (i === 0 || !points[i - 1]?.[name]) {
      parts.push({ upper: [], lower: [] });
    }
    parts.at(-1)?.lower.unshift(`${x(i).toFixed(1)} ${y(edges[0]).toFixed(1)}`);
    parts.at(-1)?.upper.push(`${x(i).toFixed(1)} ${y(edges[1]).toFixed(1)}`);
  });
  return parts.map(({ upper, lower }) => `M${[...upper, ...lower].join("L")}Z`).join("");
}

function SpendTooltip({ point, stepMs, running }: { point: SpendPoint; stepMs: number; running?: string }) {
  const { bin } = point;
  return (
    <ChartTooltip
      at={point.at}
      stepMs={stepMs}
      running={point.at === running}
      lines={[
        ["Spend", formatMoney(bin.cost_usd)],
        ...(bin.saved_percent == null
          ? []
          : ([
              ["Baseline", formatMoney(bin.baseline_cost_usd)],
              ["Saved", `${formatMoney(bin.saved_usd)} (${formatSaving(bin.saved_percent)})`],
            ] as [string, string][])),
        ["Requests", formatCount(bin.requests)],
      ]}
    />
  );
}
