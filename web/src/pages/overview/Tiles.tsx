import { Paper, SimpleGrid, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Schema } from "../../api/client";
import { PanelSkeleton } from "../../components/Loading";
import type { Filters, Search } from "../../lib/filters";
import { formatMoney, parseNano, unknown } from "../../lib/money";
import { formatCount, formatDuration, formatPercent, formatSaving, plural } from "../../lib/numbers";
import { changeText, knownShare, rateText } from "./figures";
import classes from "./overview.module.css";

interface Props {
  overview: Schema["Overview"];
  /** The search parameters of the Requests page for the same figures, with more filters. */
  searchFor: (more?: Filters) => Search;
}

/** The five totals of the period. Each opens its requests. */
export function Tiles({ overview, searchFor }: Props) {
  const { current: now, previous: before, previous_complete: complete } = overview;
  const span = Date.parse(overview.to) - Date.parse(overview.from);
  const spendChange = changeText(now.cost_usd, before.cost_usd, complete);
  return (
    <TileGrid>
      <Saved figures={now} search={searchFor()} />
      <Tile
        label="Spend"
        value={now.priced > 0 ? formatMoney(now.cost_usd) : unknown}
        search={searchFor({ preset: "expensive" })}
      >
        <div>{spendChange ?? "No previous spend"}</div>
        {now.priced < now.served && <div>Cost known for {knownShare(now.priced, now.served)}</div>}
      </Tile>
      <Tile label="Requests" value={formatCount(now.requests)} search={searchFor()}>
        <div>{rateText(now.requests, span)}</div>
        <div>{changeText(now.requests, before.requests, complete)}</div>
      </Tile>
      <Tile
        label="Latency p50 / p95"
        value={
          <>
            {withoutUnit(now.latency_p50_ms)} / {formatDuration(now.latency_p95_ms)}
          </>
        }
        search={searchFor({ preset: "slowest" })}
      >
        <div>TTFT p50 {formatDuration(now.ttft_p50_ms)}</div>
        <div>
          {before.latency_p50_ms != null &&
            `Previous p50 ${formatDuration(before.latency_p50_ms)}${complete ? "" : ", incomplete"}`}
        </div>
      </Tile>
      <Tile label="Errors" value={formatPercent(now.error_percent)} search={searchFor({ preset: "errors" })}>
        <div>
          {now.errors === 0 ? "No failed requests" : `${formatCount(now.errors)} failed`}
          {before.requests > 0 &&
            ` · previous ${formatPercent(before.error_percent)}${complete ? "" : ", incomplete"}`}
        </div>
        {now.rejected > 0 && <div>{formatCount(now.rejected)} rejected, not counted as errors</div>}
      </Tile>
    </TileGrid>
  );
}

/** Placeholder for the tiles. */
export function TilesSkeleton() {
  return (
    <TileGrid>
      {Array.from({ length: 5 }, (_, i) => (
        <PanelSkeleton key={i} height={92} />
      ))}
    </TileGrid>
  );
}

function TileGrid({ children }: { children: ReactNode }) {
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing={{ base: "sm", lg: "md" }} className={classes.tiles}>
      {children}
    </SimpleGrid>
  );
}

function Saved({ figures, search }: { figures: Schema["FigureSet"]; search: Search }) {
  if (figures.compared === 0) {
    return (
      <Tile label="Saved" value={unknown} search={search}>
        <div>No known baseline yet</div>
        <CacheSaved figures={figures} />
      </Tile>
    );
  }
  const loss = parseNano(figures.saved_usd) < 0n;
  return (
    <Tile
      label="Saved"
      value={
        <>
          {formatMoney(figures.saved_usd)}
          {figures.saved_percent != null && (
            <span className={classes.beside}> {formatSaving(figures.saved_percent)}</span>
          )}
        </>
      }
      search={loss ? { ...search, preset: "negative_savings" } : search}
      mark={loss ? "loss" : "gain"}
    >
      <div>Baseline {formatMoney(figures.baseline_cost_usd)}</div>
      {loss && <div>More expensive than the baseline</div>}
      <CacheSaved figures={figures} />
    </Tile>
  );
}

/** What the response cache saved, which is not an effect of routing. */
function CacheSaved({ figures }: { figures: Schema["FigureSet"] }) {
  if (figures.cache_hits === 0) {
    return null;
  }
  return (
    <div>
      + {formatMoney(figures.cache_saved_usd)} from {plural(figures.cache_hits, "cache hit")}
    </div>
  );
}

interface TileProps {
  label: string;
  value: ReactNode;
  search: Search;
  mark?: "gain" | "loss";
  children?: ReactNode;
}

function Tile({ label, value, search, mark, children }: TileProps) {
  return (
    <Paper
      withBorder
      p="sm"
      component={Link}
      to="/requests"
      search={search as never}
      className={classes.tile}
      data-mark={mark}
    >
      <Text size="xs" c="dimmed" fw={600}>
        {label}
      </Text>
      <div className={classes.value}>{value}</div>
      <Text size="xs" c="dimmed" component="div" className={classes.lines}>
        {children}
      </Text>
    </Paper>
  );
}

/** Formats milliseconds without the unit. */
function withoutUnit(ms: number | null): string {
  return formatDuration(ms).replace(/ ms$/, "");
}
