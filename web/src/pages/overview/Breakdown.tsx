import { Anchor, Paper, Tabs, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import type { Schema } from "../../api/client";
import { type Column, DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Money } from "../../components/Money";
import { ShareBar } from "../../components/ShareBar";
import { joinList, type Filters, type Search } from "../../lib/filters";
import { formatCount, formatDuration, formatPercent, formatSaving, plural } from "../../lib/numbers";
import { type Dimension, dimensions, failureShare, failureText, unlisted } from "./figures";
import classes from "./overview.module.css";

type Group = Schema["FigureGroup"];

const titles: Record<Dimension, string> = {
  model: "Model",
  provider: "Provider",
  key: "Key",
  policy: "Policy",
};

// Labels of the row without a name. Requests that no target served have no model and no provider.
const unnamed: Record<Dimension, string> = {
  model: "not served",
  provider: "not served",
  key: "dashboard",
  policy: "no policy",
};

interface Props {
  breakdowns: Schema["Breakdowns"];
  /** Number of all requests, including requests that are not listed. */
  requests: number;
  dimension: Dimension;
  onDimension: (dimension: Dimension) => void;
  searchFor: (more?: Filters) => Search;
  onOpen: (search: Search) => void;
}

/** The figures by model, provider, key or policy. Each row opens its requests. */
export function Breakdown({ breakdowns, requests, dimension, onDimension, searchFor, onOpen }: Props) {
  const rows = breakdowns[dimension];
  const rest = unlisted(rows, requests);
  const searchOf = (group: Group) => searchFor({ [dimension]: joinList([group.name]) });
  return (
    <Paper withBorder p="md" component="section" aria-label="Breakdown" className={classes.breakdown}>
      <Title order={2} size="h3" mb={4}>
        Breakdown
      </Title>
      <Tabs value={dimension} onChange={(value) => onDimension(value as Dimension)} keepMounted={false}>
        <Tabs.List>
          {dimensions.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {titles[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {dimensions.map((name) => (
          <Tabs.Panel key={name} value={name} pt={4}>
            {rows.length === 0 ? (
              <EmptyState title="No requests in this time range" />
            ) : (
              <DataTable
                label={`By ${name}`}
                rows={rows}
                columns={columns(name, searchOf)}
                rowKey={(group) => group.name}
                dense
                phone={(group) => phoneRow(group, name)}
                onOpen={(group) => group.name !== "" && onOpen(searchOf(group))}
              />
            )}
          </Tabs.Panel>
        ))}
      </Tabs>
      {rest > 0 && (
        <Text size="xs" c="dimmed" mt="xs">
          Top {formatCount(rows.length)} shown. {plural(rest, "request")} not listed.
        </Text>
      )}
    </Paper>
  );
}

function Name({ group, dimension }: { group: Group; dimension: Dimension }) {
  return group.name === "" ? (
    <Text span inherit c="dimmed">
      {unnamed[dimension]}
    </Text>
  ) : (
    group.label
  );
}

function columns(dimension: Dimension, searchOf: (group: Group) => Search): Column<Group>[] {
  return [
    {
      id: "name",
      label: titles[dimension],
      maxWidth: 190,
      sort: (g) => g.label || null,
      render: (g) =>
        g.name === "" ? (
          <Name group={g} dimension={dimension} />
        ) : (
          <Anchor inherit component={Link} to="/requests" search={searchOf(g) as never}>
            {g.label}
          </Anchor>
        ),
    },
    {
      id: "requests",
      label: "Requests",
      numeric: true,
      sort: (g) => g.requests,
      render: (g) => formatCount(g.requests),
    },
    {
      id: "share",
      label: "Share",
      numeric: true,
      sort: (g) => g.share_percent,
      render: (g) => <ShareBar percent={g.share_percent} />,
    },
    {
      id: "routed",
      label: "Routed",
      numeric: true,
      hint: "Cost of the requests",
      sort: (g) => (g.priced > 0 ? Number(g.cost_usd) : null),
      render: (g) => <Money amount={g.priced > 0 ? g.cost_usd : null} why="No requests with a known cost." />,
    },
    {
      id: "baseline",
      label: "Baseline",
      numeric: true,
      hint: "Cost of the same requests with the baseline model, where known",
      sort: (g) => (g.compared > 0 ? Number(g.baseline_cost_usd) : null),
      render: (g) => (
        <Money
          amount={g.compared > 0 ? g.baseline_cost_usd : null}
          why="No requests with a known baseline."
        />
      ),
    },
    {
      id: "saved",
      label: "Saved",
      numeric: true,
      hint: "Baseline cost minus routed cost, where the baseline is known",
      sort: (g) => (g.compared > 0 ? Number(g.saved_usd) : null),
      render: (g) => <SavedCell group={g} />,
    },
    {
      id: "p50",
      label: "p50",
      numeric: true,
      hint: "Median latency",
      sort: (g) => g.latency_p50_ms,
      render: (g) => formatDuration(g.latency_p50_ms),
    },
    {
      id: "p95",
      label: "p95",
      numeric: true,
      hint: "95th percentile of latency",
      sort: (g) => g.latency_p95_ms,
      render: (g) => formatDuration(g.latency_p95_ms),
    },
    {
      id: "ttft",
      label: "TTFT",
      numeric: true,
      hint: "Median time to first token",
      sort: (g) => g.ttft_p50_ms,
      render: (g) => formatDuration(g.ttft_p50_ms),
    },
    {
      id: "errors",
      label: "Errors",
      numeric: true,
      hint:
        dimension === "model" || dimension === "provider"
          ? "Failed attempts, including attempts of requests that another target served"
          : "Failed requests",
      sort: (g) => failureShare(g, dimension),
      render: (g) => failureText(g, dimension),
    },
    {
      id: "fallbacks",
      label: "Fallback %",
      numeric: true,
      hint: "Share of requests served by a fallback",
      sort: (g) => g.fallback_percent,
      render: (g) => formatPercent(g.fallback_percent),
    },
  ];
}

function SavedCell({ group }: { group: Group }) {
  return (
    <>
      <Money amount={group.compared > 0 ? group.saved_usd : null} why="No requests with a known baseline." />
      {group.compared > 0 && group.saved_percent != null && (
        <Text span size="xs" c="dimmed">
          {" "}
          {formatSaving(group.saved_percent, 0)}
        </Text>
      )}
    </>
  );
}

function phoneRow(g: Group, dimension: Dimension) {
  return {
    top: (
      <>
        <Text span fw={600} size="sm" truncate>
          <Name group={g} dimension={dimension} />
        </Text>
        <Money amount={g.priced > 0 ? g.cost_usd : null} why="No requests with a known cost." />
      </>
    ),
    bottom: (
      <>
        <Text span size="xs" c="dimmed" truncate>
          {formatCount(g.requests)} requests · {formatPercent(g.share_percent)} · errors{" "}
          {failureText(g, dimension)}
        </Text>
        <Text span size="xs" c="dimmed">
          {formatDuration(g.latency_p50_ms)}
        </Text>
      </>
    ),
  };
}
