import { Table, Text } from "@mantine/core";

import type { Schema } from "../../api/client";
import { ChartPanel } from "../../components/charts/ChartPanel";
import { Time } from "../../components/Time";
import { formatCount } from "../../lib/numbers";
import { bandPath, formatInterval, formatPoints, linePath, missingText, plotOf } from "./figures";
import classes from "./proof.module.css";

const width = 720;
const height = 180;
const margin = { left: 52, right: 12, top: 12, bottom: 24 };

/** The quality difference with its interval over time. */
export function IntervalChart({ days }: { days: Schema["QualityPoint"][] }) {
  const { points, zero, ticks } = plotOf(days, width, height);
  const first = points[0];
  const last = points[points.length - 1];
  return (
    <ChartPanel
      title="Quality difference over time"
      legend={
        <Text size="xs" c="dimmed">
          Line: estimate from all comparisons up to that day. Band: 95 % interval.
        </Text>
      }
      chart={
        points.length === 0 ? (
          <Text size="sm" c="dimmed" py="xl" ta="center">
            {missingText(days[days.length - 1]?.samples ?? 0)}
          </Text>
        ) : (
          <svg
            className={classes.plot}
            viewBox={`0 0 ${width + margin.left + margin.right} ${height + margin.top + margin.bottom}`}
            role="img"
            aria-label="Quality difference in points with its confidence interval, by day"
          >
            <g transform={`translate(${margin.left} ${margin.top})`}>
              {ticks.map(({ y, label }) => (
                <g key={label + y}>
                  <line x1={0} x2={width} y1={y} y2={y} className={classes.grid} />
                  <text x={-8} y={y} textAnchor="end" dominantBaseline="middle" className={classes.label}>
                    {label}
                  </text>
                </g>
              ))}
              <path d={bandPath(points)} className={classes.band} />
              <line x1={0} x2={width} y1={zero} y2={zero} className={classes.zero} />
              <path d={linePath(points)} className={classes.line} />
              {points.map(({ day, x, value }) => (
                <circle key={day} cx={x} cy={value} r={3} className={classes.dot} />
              ))}
              <text x={0} y={height + 18} className={classes.label}>
                {first?.day.slice(0, 10)}
              </text>
              {last && last !== first && (
                <text x={width} y={height + 18} textAnchor="end" className={classes.label}>
                  {last.day.slice(0, 10)}
                </text>
              )}
            </g>
          </svg>
        )
      }
      table={
        <Table fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Day (UTC)</Table.Th>
              <Table.Th ta="right">Comparisons so far</Table.Th>
              <Table.Th ta="right">Difference, points</Table.Th>
              <Table.Th ta="right">95 % interval</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {days.map(({ day, samples, difference }) => (
              <Table.Tr key={day}>
                <Table.Td>
                  <Time at={day} as="day" />
                </Table.Td>
                <Table.Td ta="right" ff="monospace">
                  {formatCount(samples)}
                </Table.Td>
                <Table.Td ta="right" ff="monospace">
                  {difference ? formatPoints(difference.value) : "—"}
                </Table.Td>
                <Table.Td ta="right" ff="monospace">
                  {difference ? formatInterval(difference) : "—"}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      }
      note="The interval stays valid no matter how often you check it."
    />
  );
}
