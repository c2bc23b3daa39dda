import "@mantine/charts/styles.css";

import { CompositeChart, type CompositeChartSeries } from "@mantine/charts";
import { useId } from "react";

import { formatMoney } from "../../lib/money";
import { formatCount } from "../../lib/numbers";
import { useZone } from "../../lib/preferences";
import { formatBucket } from "../../lib/time";
import { chartHeight, chartMargin } from "./ChartPanel";
import classes from "./charts.module.css";
import { ChartTooltip } from "./ChartTooltip";
import { Pattern } from "./patterns";
import { axisMoney, type Bin, type SpendPoint, spendPoints } from "./points";
import { useZoom } from "./useZoom";

interface Props {
  series: Bin[];
  stepMs: number;
  /** Start of the bucket that is still running, if any. */
  running?: string;
  onZoom: (from: string, to: string) => void;
  onPick: (at: string) => void;
}

const lines: CompositeChartSeries[] = [
  { name: "saved", label: "Saved", color: "var(--fl-saved)", type: "area" },
  { name: "extra", label: "Above baseline", color: "var(--fl-extra)", type: "area" },
  { name: "baseline", label: "Baseline", color: "var(--fl-baseline)", type: "line", strokeDasharray: "5 4" },
  { name: "spend", label: "Spend", color: "var(--fl-spend)", type: "line" },
  { name: "running", label: "Spend so far", color: "var(--fl-spend)", type: "line", strokeDasharray: "2 4" },
];

/** Spend and baseline over time; the band between them is the saving. */
export default function SpendChart({ series, stepMs, running, onZoom, onPick }: Props) {
  const id = useId();
  const [zone] = useZone();
  const { selection, handlers } = useZoom({ onZoom, onPick });
  return (
    <CompositeChart
      h={chartHeight}
      mt="xs"
      className={classes.plot}
      data={spendPoints(series, running)}
      dataKey="at"
      series={lines}
      curveType="linear"
      withDots={series.length < 3}
      valueFormatter={axisMoney}
      areaProps={(line) => ({
        fill: `url(#${id}-${line.name})`,
        fillOpacity: 1,
        stroke: "none",
        dot: false,
        activeDot: false,
      })}
      xAxisProps={{ tickFormatter: (at: string) => formatBucket(at, stepMs, zone), minTickGap: 40 }}
      yAxisProps={{ width: 64 }}
      composedChartProps={{ ...handlers, margin: chartMargin, style: { cursor: "crosshair" } }}
      referenceAreas={selection && [{ x1: selection.from, x2: selection.to, color: "var(--fl-spend)" }]}
      tooltipProps={{
        content: ({ payload }) => (
          <SpendTooltip
            point={payload?.[0]?.payload as SpendPoint | undefined}
            stepMs={stepMs}
            running={running}
          />
        ),
      }}
    >
      <defs>
        <Pattern id={`${id}-saved`} fill="hatched" colour="var(--fl-saved)" />
        <Pattern id={`${id}-extra`} fill="crossed" colour="var(--fl-extra)" />
      </defs>
    </CompositeChart>
  );
}

function SpendTooltip({ point, stepMs, running }: { point?: SpendPoint; stepMs: number; running?: string }) {
  if (!point) {
    return null;
  }
  const { bin } = point;
  return (
    <ChartTooltip
      at={point.at}
      stepMs={stepMs}
      running={point.at === running}
      lines={[
        ["Spend", formatMoney(bin.cost_usd)],
        ["Baseline", formatMoney(bin.baseline_cost_usd)],
        ["Saved", formatMoney(bin.saved_usd)],
        ["Requests", formatCount(bin.requests)],
      ]}
    />
  );
}
