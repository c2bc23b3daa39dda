import { useElementSize } from "@mantine/hooks";
import { type MouseEvent, type ReactNode, useState } from "react";

import { useZone } from "../../lib/preferences";
import { chartHeight } from "./ChartPanel";
import classes from "./charts.module.css";
import { timeTicks } from "./ticks";
import { useZoom } from "./useZoom";

const margin = { left: 58, right: 8, top: 12, bottom: 24 };
// Space of one label on the time axis.
const tickWidth = 64;

/** Converts buckets and values to pixels. */
export interface Scale {
  /** Width of one bucket. */
  band: number;
  /** Middle of a bucket. */
  x: (index: number) => number;
  y: (value: number) => number;
}

interface Props {
  /** Name for screen readers. */
  label: string;
  series: { start: string }[];
  stepMs: number;
  /** Values with a line and a label, ascending, from the bottom to the top. */
  ticks: number[];
  format: (value: number) => string;
  children: (scale: Scale) => ReactNode;
  /** Details of the bucket under the pointer. */
  tooltip: (index: number) => ReactNode;
  /** Called when a range is selected. Without it, the chart does not show a selection. */
  onZoom?: (from: string, to: string) => void;
  onPick?: (at: string) => void;
  /** Called when the mouse button is released or the pointer leaves the plot. */
  onEnd?: () => void;
}

const ignore = () => undefined;

/** Axes, grid, tooltip and selection of a chart over time. */
export function Plot({
  label,
  series,
  stepMs,
  ticks,
  format,
  children,
  tooltip,
  onZoom,
  onPick,
  onEnd,
}: Props) {
  const { ref, width: measured } = useElementSize<HTMLDivElement>();
  const [zone] = useZone();
  const [hovered, setHovered] = useState<number>();
  const { selection, handlers } = useZoom({ onZoom: onZoom ?? ignore, onPick: onPick ?? ignore, onEnd });
  const width = Math.max(0, measured - margin.left - margin.right);
  const height = chartHeight - margin.top - margin.bottom;
  const [bottom, top] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const band = width / Math.max(1, series.length);
  const scale: Scale = {
    band,
    x: (index) => (index + 0.5) * band,
    y: (value) => height * (1 - (value - bottom) / (top - bottom)),
  };
  const indexOf = (event: MouseEvent<SVGSVGElement>): number | undefined => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - margin.left;
    return x < 0 || x >= width ? undefined : Math.min(series.length - 1, Math.floor(x / band));
  };
  const forward =
    (handler: (mouse: { activeLabel?: string }) => void) => (event: MouseEvent<SVGSVGElement>) => {
      const index = indexOf(event);
      setHovered(index);
      handler({ activeLabel: index === undefined ? undefined : series[index]?.start });
    };
  const marked =
    onZoom &&
    selection &&
    [selection.from, selection.to].map((at) => series.findIndex((b) => b.start === at));
  const [low, high] = marked ? [Math.min(...marked), Math.max(...marked)] : [];
  return (
    <div ref={ref} className={classes.plot}>
      {width > 0 && (
        <svg
          width={measured}
          height={chartHeight}
          role="img"
          aria-label={label}
          onMouseDown={forward(handlers.onMouseDown)}
          onMouseMove={forward(handlers.onMouseMove)}
          onMouseUp={forward(handlers.onMouseUp)}
          onMouseLeave={() => {
            setHovered(undefined);
            handlers.onMouseLeave();
          }}
        >
          <g transform={`translate(${margin.left} ${margin.top})`}>
            {ticks.map((value) => (
              <g key={value}>
                <line x2={width} y1={scale.y(value)} y2={scale.y(value)} className={classes.grid} />
                <text x={-8} y={scale.y(value)} className={classes.value}>
                  {format(value)}
                </text>
              </g>
            ))}
            {timeTicks(series, stepMs, zone, Math.max(2, Math.floor(width / tickWidth))).map((tick) => (
              <g key={tick.index} transform={`translate(${scale.x(tick.index)} ${height})`}>
                <line y2={5} className={classes.grid} />
                <text y={18} className={classes.time}>
                  {tick.label}
                </text>
              </g>
            ))}
            {hovered !== undefined && (
              <rect x={hovered * band} width={band} height={height} className={classes.hovered} />
            )}
            {children(scale)}
            {low !== undefined && high !== undefined && (
              <rect
                x={low * band}
                width={(high - low + 1) * band}
                height={height}
                className={classes.selected}
              />
            )}
          </g>
        </svg>
      )}
      {hovered !== undefined && (
        <div
          className={classes.tooltip}
          data-left={scale.x(hovered) > width / 2 || undefined}
          style={{ left: margin.left + scale.x(hovered) }}
        >
          {tooltip(hovered)}
        </div>
      )}
    </div>
  );
}
