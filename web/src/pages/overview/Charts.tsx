import { Anchor, Button, SimpleGrid, Table } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useId } from "react";

import type { Schema } from "../../api/client";
import { ChartPanel } from "../../components/charts/ChartPanel";
import classes from "../../components/charts/charts.module.css";
import DecisionChart from "../../components/charts/DecisionChart";
import { decisionLooks } from "../../components/charts/decisions";
import { LineSwatch, Swatch } from "../../components/charts/patterns";
import { type Bin, hasExtra, isRunning, spanRange, stepOf } from "../../components/charts/points";
import SpendChart from "../../components/charts/SpendChart";
import type { Filters, Search } from "../../lib/filters";
import { formatMoney, unknown } from "../../lib/money";
import { formatCount } from "../../lib/numbers";
import { useZone } from "../../lib/preferences";
import type { Range } from "../../lib/range";
import { useStored } from "../../lib/stored";
import { dayNote, formatBucket, zoneName } from "../../lib/time";

interface Props {
  overview: Schema["Overview"];
  onZoom: (range: Range) => void;
  /** The search parameters of the Requests page for a time range. */
  searchIn: (range: Range, more?: Filters) => Search;
  onOpen: (search: Search) => void;
}

/** Spend and baseline, and decisions, over time. */
export function Charts({ overview, onZoom, searchIn, onOpen }: Props) {
  const { series } = overview;
  const [zone] = useZone();
  const days = dayNote(overview.days, zoneName(zone));
  const stepMs = stepOf(series, overview.step_ms);
  const zoom = (from: string, to: string) => onZoom(spanRange(from, to, stepMs, series));
  const at = (bin: string, more?: Filters) => searchIn(spanRange(bin, bin, stepMs, series), more);
  const last = series.at(-1);
  const running = last && isRunning(last, stepMs, overview.to) ? last.start : undefined;
  const soFar = running && `The last bucket, from ${formatBucket(running, stepMs, zone)}, is incomplete.`;
  const partly = overview.current.compared < overview.current.priced;
  const [percent, setPercent] = useStored("chart-percent", false);
  const toggle = (title: string) => <PercentButton title={title} on={percent} onChange={setPercent} />;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <ChartPanel
        title="Spend vs baseline"
        actions={toggle("Spend vs baseline")}
        legend={<SpendLegend extra={hasExtra(series)} running={running !== undefined} />}
        chart={
          <SpendChart
            series={series}
            stepMs={stepMs}
            running={running}
            percent={percent}
            onZoom={zoom}
            onPick={(bin) => onOpen(at(bin))}
          />
        }
        table={<SpendTable series={series} stepMs={stepMs} running={running} searchAt={at} />}
        note={notes(
          percent && "Percent of the baseline.",
          partly && "Requests without a known baseline add the same amount to both lines.",
          soFar,
          days,
        )}
      />
      <ChartPanel
        title="Decisions over time"
        actions={toggle("Decisions over time")}
        legend={<DecisionLegend running={running !== undefined} />}
        chart={
          <DecisionChart
            series={series}
            stepMs={stepMs}
            running={running}
            percent={percent}
            onZoom={zoom}
            onPick={(bin, decision) => onOpen(at(bin, { decision }))}
          />
        }
        table={<DecisionTable series={series} stepMs={stepMs} running={running} searchAt={at} />}
        note={notes(soFar, days)}
      />
    </SimpleGrid>
  );
}

function notes(...texts: (string | false | undefined)[]): string | undefined {
  return texts.filter(Boolean).join(" ") || undefined;
}

/** Switches both charts between amounts and percent. */
function PercentButton(props: { title: string; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <Button
      variant={props.on ? "light" : "subtle"}
      size="compact-xs"
      aria-label={`Percent: ${props.title}`}
      aria-pressed={props.on}
      onClick={() => props.onChange(!props.on)}
    >
      Percent
    </Button>
  );
}

/** Legend of the bucket that is still running. */
function RunningLegend() {
  return (
    <span>
      <LineSwatch colour="currentColor" dash="2 4" /> Incomplete interval
    </span>
  );
}

function SpendLegend({ extra, running }: { extra: boolean; running: boolean }) {
  const id = useId();
  return (
    <div className={classes.legend}>
      <span>
        <LineSwatch colour="var(--fl-spend)" /> Spend
      </span>
      <span>
        <LineSwatch colour="var(--fl-baseline)" dash="5 4" /> Baseline
      </span>
      <span>
        <Swatch id={`${id}-saved`} fill="hatched" colour="var(--fl-saved)" /> Saved
      </span>
      {extra && (
        <span>
          <Swatch id={`${id}-extra`} fill="crossed" colour="var(--fl-extra)" /> Above baseline
        </span>
      )}
      {running && <RunningLegend />}
    </div>
  );
}

function DecisionLegend({ running }: { running: boolean }) {
  const id = useId();
  return (
    <div className={classes.legend}>
      {decisionLooks.map((look) => (
        <span key={look.name}>
          <Swatch id={`${id}-${look.name}`} fill={look.fill} colour={look.colour} /> {look.name}
        </span>
      ))}
      {running && <RunningLegend />}
    </div>
  );
}

interface TableProps {
  series: Bin[];
  stepMs: number;
  running: string | undefined;
  searchAt: (bin: string, more?: Filters) => Search;
}

function SpendTable(props: TableProps) {
  return (
    <BinTable
      {...props}
      heads={["Spend", "Baseline", "Saved", "Requests"]}
      cells={(bin) => [
        formatMoney(bin.cost_usd),
        bin.saved_percent == null ? unknown : formatMoney(bin.baseline_cost_usd),
        bin.saved_percent == null ? unknown : formatMoney(bin.saved_usd),
        formatCount(bin.requests),
      ]}
    />
  );
}

function DecisionTable(props: TableProps) {
  return (
    <BinTable
      {...props}
      heads={[...decisionLooks.map((look) => look.name), "requests"]}
      cells={(bin) => [
        ...decisionLooks.map((look) => (
          <Anchor
            key={look.name}
            inherit
            component={Link}
            to="/requests"
            search={props.searchAt(bin.start, { decision: look.name }) as never}
          >
            {formatCount(look.count(bin))}
          </Anchor>
        )),
        formatCount(bin.requests),
      ]}
    />
  );
}

/** The buckets with requests, one row each. */
function BinTable(props: TableProps & { heads: string[]; cells: (bin: Bin) => React.ReactNode[] }) {
  const [zone] = useZone();
  return (
    <Table verticalSpacing={4} fz="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Time</Table.Th>
          {props.heads.map((head) => (
            <Table.Th key={head} scope="col" ta="right" tt="capitalize">
              {head}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {props.series
          .filter((bin) => bin.requests > 0)
          .map((bin) => (
            <Table.Tr key={bin.start}>
              <Table.Th scope="row" fw={400}>
                <Anchor inherit component={Link} to="/requests" search={props.searchAt(bin.start) as never}>
                  {formatBucket(bin.start, props.stepMs, zone)}
                </Anchor>
                {bin.start === props.running && " (so far)"}
              </Table.Th>
              {props.cells(bin).map((cell, i) => (
                <Table.Td key={i} className={classes.number}>
                  {cell}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}
