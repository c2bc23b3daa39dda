import { useId, useRef } from "react";

import { formatCount, formatPercent } from "../../lib/numbers";
import classes from "./charts.module.css";
import { ChartTooltip } from "./ChartTooltip";
import { decisionLooks, type DecisionPoint, decisionPoints, stack } from "./decisions";
import { Pattern } from "./patterns";
import { Plot } from "./Plot";
import { axisCount, type Bin } from "./points";
import { valueTicks } from "./ticks";

const maxBarWidth = 48;

interface Props {
  series: Bin[];
  stepMs: number;
  /** Start of the bucket that is still running, if any. */
  running?: string;
  /** Whether to show the share of each decision in its bucket. */
  percent?: boolean;
  onZoom: (from: string, to: string) => void;
  /** Called when a segment is clicked: a decision in one bucket. */
  onPick: (at: string, decision: string) => void;
}

/** Requests over time, stacked by decision. */
export default function DecisionChart({ series, stepMs, running, percent, onZoom, onPick }: Props) {
  const id = useId();
  // Segment on which the mouse button was last pressed.
  const pressed = useRef<string>(undefined);
  const points = decisionPoints(series);
  const bars = points.map((point) => stack(point, percent));
  const top = percent ? 100 : Math.max(...bars.map((bar) => bar.at(-1)?.to ?? 0));
  return (
    <Plot
      label="Requests over time by decision"
      series={series}
      stepMs={stepMs}
      ticks={valueTicks(top, true)}
      format={percent ? (n) => `${n} %` : axisCount}
      tooltip={(i) => points[i] && <DecisionTooltip point={points[i]} stepMs={stepMs} running={running} />}
      onZoom={onZoom}
      onPick={(at) => pressed.current && onPick(at, pressed.current)}
      onEnd={() => (pressed.current = undefined)}
    >
      {({ band, x, y }) => {
        const width = Math.max(1, Math.min(maxBarWidth, band * 0.8));
        return (
          <>
            <defs>
              {decisionLooks.map((look) => (
                <Pattern key={look.name} id={`${id}-${look.name}`} fill={look.fill} colour={look.colour} />
              ))}
            </defs>
            {bars.map((bar, i) => (
              <g
                key={points[i]?.at}
                className={classes.bar}
                data-running={points[i]?.at === running || undefined}
              >
                {bar
                  .filter(({ from, to }) => to > from)
                  .map(({ look, from, to }) => (
                    <rect
                      key={look.name}
                      x={x(i) - width / 2}
                      width={width}
                      y={y(to)}
                      height={y(from) - y(to)}
                      fill={`url(#${id}-${look.name})`}
                      stroke={look.colour}
                      onMouseDown={() => {
                        pressed.current = look.name;
                      }}
                    />
                  ))}
              </g>
            ))}
          </>
        );
      }}
    </Plot>
  );
}

function DecisionTooltip({
  point,
  stepMs,
  running,
}: {
  point: DecisionPoint;
  stepMs: number;
  running?: string;
}) {
  const total = decisionLooks.reduce((sum, look) => sum + point[look.name], 0);
  return (
    <ChartTooltip
      at={point.at}
      stepMs={stepMs}
      running={point.at === running}
      lines={decisionLooks.map((look) => [
        look.name,
        total === 0
          ? formatCount(point[look.name])
          : `${formatCount(point[look.name])} (${formatPercent((100 * point[look.name]) / total, 0)})`,
      ])}
    />
  );
}
