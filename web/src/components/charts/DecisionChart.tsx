import "@mantine/charts/styles.css";

import { BarChart } from "@mantine/charts";
import { useId, useRef } from "react";
import { type BarShapeProps, Rectangle } from "recharts";

import { formatCount } from "../../lib/numbers";
import { useZone } from "../../lib/preferences";
import { formatBucket } from "../../lib/time";
import { chartHeight, chartMargin } from "./ChartPanel";
import classes from "./charts.module.css";
import { ChartTooltip } from "./ChartTooltip";
import { decisionLooks, type DecisionPoint, decisionPoints } from "./decisions";
import { Pattern } from "./patterns";
import { axisCount, type Bin } from "./points";
import { useZoom } from "./useZoom";

interface Props {
  series: Bin[];
  stepMs: number;
  /** Start of the bucket that is still running, if any. */
  running?: string;
  onZoom: (from: string, to: string) => void;
  /** Called when a segment is clicked: a decision in one bucket. */
  onPick: (at: string, decision: string) => void;
}

/** Requests over time, stacked by decision. */
export default function DecisionChart({ series, stepMs, running, onZoom, onPick }: Props) {
  const id = useId();
  const [zone] = useZone();
  // The segment under the last mouse-down. Segments are re-rendered during a click, so they never receive click events.
  const pressed = useRef<string>(undefined);
  const { selection, handlers } = useZoom({
    onZoom,
    onPick: (at) => pressed.current && onPick(at, pressed.current),
    onEnd: () => (pressed.current = undefined),
  });
  return (
    <BarChart
      h={chartHeight}
      mt="xs"
      className={classes.plot}
      type="stacked"
      data={decisionPoints(series)}
      dataKey="at"
      series={decisionLooks.map((look) => ({ name: look.name, color: look.colour }))}
      valueFormatter={axisCount}
      maxBarWidth={48}
      barProps={(line) => ({
        fill: `url(#${id}-${line.name})`,
        style: { cursor: "pointer" },
        shape: (bar: BarShapeProps) => (
          <Rectangle {...bar} opacity={(bar.payload as DecisionPoint).at === running ? 0.45 : 1} />
        ),
        onMouseDown: () => {
          pressed.current = line.name;
        },
      })}
      xAxisProps={{ tickFormatter: (at: string) => formatBucket(at, stepMs, zone), minTickGap: 40 }}
      yAxisProps={{ width: 48, allowDecimals: false }}
      barChartProps={{ ...handlers, margin: chartMargin }}
      referenceAreas={selection && [{ x1: selection.from, x2: selection.to, color: "var(--fl-expected)" }]}
      tooltipProps={{
        content: ({ payload }) => (
          <DecisionTooltip
            point={payload?.[0]?.payload as DecisionPoint | undefined}
            stepMs={stepMs}
            running={running}
          />
        ),
      }}
    >
      <defs>
        {decisionLooks.map((look) => (
          <Pattern key={look.name} id={`${id}-${look.name}`} fill={look.fill} colour={look.colour} />
        ))}
      </defs>
    </BarChart>
  );
}

function DecisionTooltip({
  point,
  stepMs,
  running,
}: {
  point?: DecisionPoint;
  stepMs: number;
  running?: string;
}) {
  if (!point) {
    return null;
  }
  return (
    <ChartTooltip
      at={point.at}
      stepMs={stepMs}
      running={point.at === running}
      lines={decisionLooks.map((look) => [look.name, formatCount(point[look.name])])}
    />
  );
}
