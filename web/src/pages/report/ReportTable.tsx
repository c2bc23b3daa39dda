import { Anchor, Text } from "@mantine/core";

import { type Column, DataTable } from "../../components/DataTable";
import { Money } from "../../components/Money";
import { PageLink } from "../../components/PageLink";
import { ShareBar } from "../../components/ShareBar";
import { formatCount, formatDuration, formatPercent, formatSaving } from "../../lib/numbers";
import { useDensity } from "../../lib/preferences";
import { useGo } from "../../lib/search";
import { useSession } from "../../lib/session";
import { dimensionLabel, type Report, type Row } from "./report";
import classes from "./report.module.css";

/** The figures of every group. A row opens its requests. */
export function ReportTable({ report, rows }: { report: Report; rows: Row[] }) {
  const go = useGo();
  const [density] = useDensity();
  const { may } = useSession();
  const linked = may("read_requests");
  return (
    <DataTable
      label="Report"
      rows={rows}
      columns={columns(report, linked)}
      rowKey={(row) => row.id}
      dense={density === "compact"}
      onOpen={linked ? (row) => row.search && void go({ to: "/requests", search: row.search }) : undefined}
      phone={(row) => ({
        top: (
          <>
            <Text
              span
              inherit
              truncate
              fw={row.level === 0 ? 600 : undefined}
              className={row.level === 1 ? classes.inner : undefined}
            >
              {row.label}
            </Text>
            <Money
              amount={row.figures.priced > 0 ? row.figures.cost_usd : null}
              why="No requests with a known cost."
            />
          </>
        ),
        bottom: (
          <>
            <Text span inherit c="dimmed" truncate className={row.level === 1 ? classes.inner : undefined}>
              {formatCount(row.figures.requests)} requests · errors {formatPercent(row.figures.error_percent)}
            </Text>
            <Text span inherit size="xs" c="dimmed">
              {formatDuration(row.figures.latency_p95_ms)}
            </Text>
          </>
        ),
      })}
    />
  );
}

function columns(report: Report, linked: boolean): Column<Row>[] {
  const head = report.then
    ? `${dimensionLabel(report.by)} / ${dimensionLabel(report.then).toLowerCase()}`
    : dimensionLabel(report.by);
  const share = (row: Row) =>
    report.total.requests > 0 ? (100 * row.figures.requests) / report.total.requests : null;
  return [
    {
      id: "name",
      label: head,
      maxWidth: 260,
      render: (row) => (
        <Text
          span
          inherit
          fw={row.total || (row.level === 0 && report.then) ? 600 : undefined}
          className={row.level === 1 ? classes.inner : undefined}
          c={row.search ? undefined : "dimmed"}
        >
          {row.search && linked ? (
            <Anchor inherit component={PageLink} to="/requests" search={row.search}>
              {row.label}
            </Anchor>
          ) : (
            row.label
          )}
        </Text>
      ),
    },
    { id: "requests", label: "Requests", numeric: true, render: (row) => formatCount(row.figures.requests) },
    {
      id: "share",
      label: "Share",
      numeric: true,
      hint: "Share of all requests",
      render: (row) => <ShareBar percent={share(row)} />,
    },
    {
      id: "spend",
      label: "Spend",
      numeric: true,
      render: (row) => (
        <Money
          amount={row.figures.priced > 0 ? row.figures.cost_usd : null}
          why="No requests with a known cost."
        />
      ),
    },
    {
      id: "saved",
      label: "Saved",
      numeric: true,
      hint: "Baseline cost minus cost, where the baseline is known",
      render: (row) => (
        <Money
          amount={row.figures.compared > 0 ? row.figures.saved_usd : null}
          why="No requests with a known baseline."
        />
      ),
    },
    {
      id: "savedPercent",
      label: "Saved %",
      numeric: true,
      render: (row) => formatSaving(row.figures.compared > 0 ? row.figures.saved_percent : null),
    },
    {
      id: "errors",
      label: "Errors",
      numeric: true,
      hint: "Failed requests",
      render: (row) => formatCount(row.figures.errors),
    },
    {
      id: "errorPercent",
      label: "Error %",
      numeric: true,
      render: (row) => formatPercent(row.figures.error_percent),
    },
    {
      id: "p50",
      label: "p50",
      numeric: true,
      hint: "Median latency",
      render: (row) => formatDuration(row.figures.latency_p50_ms),
    },
    {
      id: "p95",
      label: "p95",
      numeric: true,
      hint: "95th percentile of latency",
      render: (row) => formatDuration(row.figures.latency_p95_ms),
    },
  ];
}
