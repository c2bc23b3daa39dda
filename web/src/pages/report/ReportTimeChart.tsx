import { Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";

import { ChartPanel } from "../../components/charts/ChartPanel";
import classes from "../../components/charts/charts.module.css";
import { ChartTooltip } from "../../components/charts/ChartTooltip";
import { LineSwatch, Pattern, Swatch } from "../../components/charts/patterns";
import { Plot } from "../../components/charts/Plot";
import { axisCount, axisMoney, isRunning, spanRange } from "../../components/charts/points";
import { valueTicks } from "../../components/charts/ticks";
import { formatDuration } from "../../lib/numbers";
import { useZone } from "../../lib/preferences";
import type { Range } from "../../lib/range";
import { formatBucket, zoneName } from "../../lib/time";
import { reportSeriesQuery } from "./query";
import { dimensionLabel, type Measure, measures, measureText, type parametersOf } from "./report";
import { barsOf, type Look, looksOf, type ReportSeries } from "./series";

interface Props {
  parameters: ReturnType<typeof parametersOf>;
  onZoom: (range: Range) => void;
  /** Opens the requests of a bucket. */
  onPick: (range: Range) => void;
}

const maxBarWidth = 48;

const axes: Record<Measure, (value: number) => string> = {
  spend: axisMoney,
  savings: axisMoney,
  requests: axisCount,
  errors: axisCount,
  latency: formatDuration,
};

/** The measure over time, stacked by the top groups. */
export function ReportTimeChart({ parameters, onZoom, onPick }: Props) {
  const [zone] = useZone();
  const { data } = useQuery(reportSeriesQuery(parameters, zoneName(zone)));
  if (!data || data.bins.every((bin) => bin.total.requests === 0)) {
    return null;
  }
  const { measure } = parameters;
  const name = measures.find(({ value }) => value === measure)?.label ?? "";
  const stepMs = data.step_ms;
  const last = data.bins.at(-1);
  const running = last && isRunning(last, stepMs, data.to) ? last.start : undefined;
  const looks = looksOf(data, measure, parameters.by);
  const span = (from: string, to: string) => spanRange(from, to, stepMs, data.bins);
  const notes = [
    measure === "latency" && "95th percentile of all requests.",
    running && `The last bucket, from ${formatBucket(running, stepMs, zone)}, is incomplete.`,
    stepMs >= 86_400_000 && data.zone === "UTC" && zoneName(zone) && "Days are in UTC.",
  ];
  return (
    <ChartPanel
      title={`${name} over time`}
      legend={<Legend looks={looks} running={running !== undefined} />}
      chart={
        <Bars
          label={`${name} over time by ${dimensionLabel(parameters.by).toLowerCase()}`}
          series={data}
          measure={measure}
          looks={looks}
          running={running}
          onZoom={(from, to) => onZoom(span(from, to))}
          onPick={(at) => onPick(span(at, at))}
        />
      }
      table={<BinTable series={data} measure={measure} running={running} />}
      note={notes.filter(Boolean).join(" ") || undefined}
    />
  );
}

function Legend({ looks, running }: { looks: Look[]; running: boolean }) {
  const id = useId();
  return (
    <div className={classes.legend}>
      {looks.map((look, i) => (
        <span key={look.label}>
          <Swatch id={`${id}-${i}`} fill={look.fill} colour={look.colour} /> {look.label}
        </span>
      ))}
      {running && (
        <span>
          <LineSwatch colour="currentColor" dash="2 4" /> Incomplete interval
        </span>
      )}
    </div>
  );
}

interface BarsProps {
  label: string;
  series: ReportSeries;
  measure: Measure;
  looks: Look[];
  running: string | undefined;
  onZoom: (from: string, to: string) => void;
  onPick: (at: string) => void;
}

function Bars({ label, series, measure, looks, running, onZoom, onPick }: BarsProps) {
  const id = useId();
  const { bins, step_ms: stepMs } = series;
  const bars = barsOf(series, measure, looks);
  const ends = bars.flat().flatMap(({ from, to }) => [from, to]);
  const counts = measure === "requests" || measure === "errors";
  return (
    <Plot
      label={label}
      series={bins}
      stepMs={stepMs}
      ticks={valueTicks(Math.max(0, ...ends), counts, Math.min(0, ...ends))}
      format={axes[measure]}
      onZoom={onZoom}
      onPick={onPick}
      tooltip={(i) => {
        const bin = bins[i];
        const lines = looks.flatMap(({ label: name, group }): [string, string][] => {
          const figures = group === undefined ? undefined : bin?.groups[group];
          return figures ? [[name, measureText(measure, figures)]] : [];
        });
        return (
          bin && (
            <ChartTooltip
              at={bin.start}
              stepMs={stepMs}
              running={bin.start === running}
              lines={[...lines, ["Total", measureText(measure, bin.total)]]}
            />
          )
        );
      }}
    >
      {({ band, x, y }) => {
        const width = Math.max(1, Math.min(maxBarWidth, band * 0.8));
        return (
          <>
            <defs>
              {looks.map((look, i) => (
                <Pattern key={look.label} id={`${id}-${i}`} fill={look.fill} colour={look.colour} />
              ))}
            </defs>
            {bars.map((bar, i) => (
              <g
                key={bins[i]?.start}
                className={classes.bar}
                data-running={bins[i]?.start === running || undefined}
              >
                {bar.map(({ look, from, to }) => (
                  <rect
                    key={look}
                    x={x(i) - width / 2}
                    width={width}
                    y={y(Math.max(from, to))}
                    height={Math.abs(y(from) - y(to))}
                    fill={`url(#${id}-${look})`}
                    stroke={looks[look]?.colour}
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

function BinTable({ series, measure, running }: Pick<BarsProps, "series" | "measure" | "running">) {
  const [zone] = useZone();
  return (
    <Table verticalSpacing={4} fz="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Time</Table.Th>
          {[...series.groups.map(({ label }) => label || "—"), "Total"].map((head, i) => (
            <Table.Th key={i} scope="col" ta="right">
              {head}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {series.bins
          .filter((bin) => bin.total.requests > 0)
          .map((bin) => (
            <Table.Tr key={bin.start}>
              <Table.Th scope="row" fw={400}>
                {formatBucket(bin.start, series.step_ms, zone)}
                {bin.start === running && " (so far)"}
              </Table.Th>
              {[...bin.groups, bin.total].map((figures, i) => (
                <Table.Td key={i} className={classes.number}>
                  {measureText(measure, figures)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}
