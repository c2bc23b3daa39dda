import { Box, Group, Text, UnstyledButton } from "@mantine/core";
import { type PointerEvent, useRef, useState } from "react";

import type { Schema } from "../../api/client";
import { formatCount } from "../../lib/numbers";
import { useZone } from "../../lib/preferences";
import { dayNote, formatBucket, zoneName } from "../../lib/time";
import classes from "./Histogram.module.css";

interface Props {
  histogram: Schema["Histogram"];
  /** Called with the ends of the selected range. */
  onZoom: (from: string, to: string) => void;
  dimmed?: boolean;
}

const height = 32;

/** The volume of requests over time: errors dark, fallbacks hatched. Dragging zooms in; a click selects one bar. */
export function Histogram({ histogram, onZoom, dimmed }: Props) {
  const [zone] = useZone();
  const [asTable, setAsTable] = useState(false);
  const drag = useDrag(histogram, onZoom);
  const bins = histogram.bins;
  const top = Math.max(1, ...bins.map((bin) => bin.requests));
  const days = dayNote(histogram.days, zoneName(zone));
  const [first, last] = [bins[0], bins.at(-1)];
  if (!first || !last) {
    return null;
  }
  return (
    <Box mb={6} opacity={dimmed ? 0.55 : 1}>
      {asTable ? (
        <BinTable histogram={histogram} />
      ) : (
        <svg
          className={classes.chart}
          viewBox={`0 0 ${bins.length} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Requests over time, up to ${formatCount(top)} per bar`}
          {...drag.handlers}
        >
          <defs>
            <pattern id="hatch" width="0.25" height="4" patternUnits="userSpaceOnUse">
              <rect width="0.25" height="2" className={classes.fallback} />
            </pattern>
          </defs>
          {bins.map((bin, i) => (
            <Bar
              key={bin.start}
              bin={bin}
              x={i}
              top={top}
              label={formatBucket(bin.start, histogram.step_ms, zone)}
            />
          ))}
          {drag.selected && (
            <rect
              x={drag.selected[0]}
              width={drag.selected[1] - drag.selected[0] + 1}
              y={0}
              height={height}
              className={classes.selected}
            />
          )}
        </svg>
      )}
      {histogram.partial && histogram.counted_from && (
        <Text size="xs" c="dimmed" role="status">
          Too many requests to count for these filters. Counts start at{" "}
          {formatBucket(histogram.counted_from, 3_600_000, zone)}.
        </Text>
      )}
      {days && (
        <Text size="xs" c="dimmed">
          {days}
        </Text>
      )}
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed">
          {formatBucket(first.start, histogram.step_ms, zone)}
        </Text>
        <Group gap="md" className={classes.legend}>
          <Legend className={classes.keyRest} word="Requests" />
          <Legend className={classes.keyFallback} word="Fallbacks" />
          <Legend className={classes.keyError} word="Errors" />
          <UnstyledButton fz="xs" td="underline" onClick={() => setAsTable(!asTable)}>
            {asTable ? "View as chart" : "View as table"}
          </UnstyledButton>
        </Group>
        <Text size="xs" c="dimmed">
          {formatBucket(last.start, histogram.step_ms, zone)}
        </Text>
      </Group>
    </Box>
  );
}

function Legend({ className, word }: { className?: string; word: string }) {
  return (
    <Text size="xs" c="dimmed" component="span">
      <span className={`${classes.key} ${className}`} aria-hidden /> {word}
    </Text>
  );
}

function Bar({ bin, x, top, label }: { bin: Schema["HistogramBin"]; x: number; top: number; label: string }) {
  const scale = (n: number) => (n / top) * height;
  const whole = scale(bin.requests);
  const [errors, fallbacks] = [scale(bin.errors), scale(bin.fallbacks)];
  return (
    <g>
      <title>{`${label}: ${formatCount(bin.requests)} requests, ${formatCount(bin.errors)} errors, ${formatCount(bin.fallbacks)} fallbacks`}</title>
      <rect x={x} width={1} y={0} height={height} className={classes.space} />
      <rect x={x + 0.06} width={0.88} y={height - whole} height={whole} className={classes.rest} />
      <rect x={x + 0.06} width={0.88} y={height - errors - fallbacks} height={fallbacks} fill="url(#hatch)" />
      <rect x={x + 0.06} width={0.88} y={height - errors} height={errors} className={classes.error} />
    </g>
  );
}

/** Handles dragging over the bars. */
function useDrag({ bins, step_ms: step }: Schema["Histogram"], onZoom: Props["onZoom"]) {
  const start = useRef<number | undefined>(undefined);
  const [selected, setSelected] = useState<[number, number]>();
  const at = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return Math.min(bins.length - 1, Math.max(0, Math.floor(share * bins.length)));
  };
  const span = (event: PointerEvent<SVGSVGElement>): [number, number] => {
    const here = at(event);
    const from = start.current ?? here;
    return from <= here ? [from, here] : [here, from];
  };
  return {
    selected,
    handlers: {
      onPointerDown: (event: PointerEvent<SVGSVGElement>) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = at(event);
        setSelected(span(event));
      },
      onPointerMove: (event: PointerEvent<SVGSVGElement>) => {
        if (start.current !== undefined) {
          setSelected(span(event));
        }
      },
      onPointerUp: (event: PointerEvent<SVGSVGElement>) => {
        const [first, last] = span(event);
        start.current = undefined;
        setSelected(undefined);
        const [from, to] = [bins[first], bins[last]];
        if (from && to) {
          onZoom(from.start, bins[last + 1]?.start ?? new Date(Date.parse(to.start) + step).toISOString());
        }
      },
      onPointerCancel: () => {
        start.current = undefined;
        setSelected(undefined);
      },
    },
  };
}

function BinTable({ histogram }: { histogram: Schema["Histogram"] }) {
  const [zone] = useZone();
  return (
    <Box mah={220} style={{ overflow: "auto" }} tabIndex={0} role="region" aria-label="Requests over time">
      <table className={classes.table}>
        <thead>
          <tr>
            {["From", "Requests", "Errors", "Fallbacks"].map((word) => (
              <th key={word} scope="col">
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {histogram.bins
            .filter((bin) => bin.requests > 0)
            .map((bin) => (
              <tr key={bin.start}>
                <td>{formatBucket(bin.start, histogram.step_ms, zone)}</td>
                <td>{formatCount(bin.requests)}</td>
                <td>{formatCount(bin.errors)}</td>
                <td>{formatCount(bin.fallbacks)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </Box>
  );
}
