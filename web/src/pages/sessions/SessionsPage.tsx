import { Button, Group, Switch, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import type { Schema } from "../../api/client";
import { keysQuery } from "../../api/queries";
import { type SessionFilters, sessionsQuery } from "../../api/sessions";
import { type Column, DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { RowsSkeleton } from "../../components/Loading";
import { Money } from "../../components/Money";
import { PageHeader } from "../../components/PageHeader";
import { InvalidRange, RangePicker } from "../../components/RangePicker";
import { Redacted } from "../../components/Redacted";
import { Time } from "../../components/Time";
import { unknown } from "../../lib/money";
import { formatChange, formatCount, formatDuration, plural } from "../../lib/numbers";
import { useDensity } from "../../lib/preferences";
import { invalidEnds, rangeOf, wider } from "../../lib/range";
import { useGo, useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { durationOf } from "./figures";

type Row = Schema["SessionSummary"];

/** The sessions, ordered by their latest request, newest first. */
export function SessionsPage() {
  const [search, setSearch] = useSearchParams();
  const range = rangeOf(search);
  const filters: SessionFilters = {
    key: search["key"],
    user: search["user"],
    model: search["model"],
    single: search["single"],
  };
  const active = [
    ["key", filters.key],
    ["user", filters.user],
    ["model", filters.model],
  ].filter((pair): pair is [string, string] => pair[1] !== undefined);
  return (
    <>
      <PageHeader title="Sessions" description="Conversations and agent runs, latest activity first" />
      <Group gap="xs" mb="sm">
        <RangePicker range={range} onChange={(next) => setSearch({ ...next, to: next.to })} />
        {active.map(([name, value]) => (
          <Button
            key={name}
            size="xs"
            variant="light"
            rightSection={<Icon name="x" size={12} />}
            aria-label={`Remove filter ${name} ${value}`}
            onClick={() => setSearch({ [name]: undefined })}
          >
            {name}: {value}
          </Button>
        ))}
        <Switch
          size="sm"
          label="Include single requests"
          checked={filters.single === "1"}
          onChange={(event) => setSearch({ single: event.currentTarget.checked ? "1" : undefined })}
        />
      </Group>
      <InvalidRange ends={invalidEnds(search)} range={range} />
      <List filters={filters} range={range} onRange={(next) => setSearch({ ...next, to: next.to })} />
    </>
  );
}

interface ListProps {
  filters: SessionFilters;
  range: { from: string; to?: string };
  onRange: (range: { from: string; to?: string }) => void;
}

function List({ filters, range, onRange }: ListProps) {
  const go = useGo();
  const { may } = useSession();
  const [density] = useDensity();
  const keys = useQuery({ ...keysQuery, enabled: may("read_keys") });
  const names = Object.fromEntries(keys.data?.keys.map((key) => [key.id, key.name]) ?? []);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isPlaceholderData } =
    useInfiniteQuery(sessionsQuery(filters, range));
  const rows = data?.pages.flatMap((page) => page.sessions) ?? [];
  const longer = wider(range);
  if (error) {
    return <ErrorPanel what="Could not load sessions" error={error} onRetry={() => void refetch()} />;
  }
  if (!data) {
    return <RowsSkeleton />;
  }
  if (rows.length === 0) {
    return (
      <EmptyState
        icon="list"
        title="No sessions in this range"
        actions={
          longer && (
            <Button size="xs" variant="default" onClick={() => onRange(longer)}>
              Show a longer range
            </Button>
          )
        }
      >
        A session appears here after the second request of a conversation. Clients can name it in the header
        x-fairlead-session.
      </EmptyState>
    );
  }
  return (
    <>
      <DataTable
        label="Sessions"
        rows={rows}
        columns={columnsOf(names)}
        rowKey={(row) => row.id}
        dense={density === "compact"}
        dimmed={isPlaceholderData}
        onOpen={(row) => void go({ to: "/sessions/$id", params: { id: row.id } })}
        phone={(row) => ({
          top: (
            <>
              <Text span inherit truncate>
                <First row={row} />
              </Text>
              <Money amount={cost(row)} />
            </>
          ),
          bottom: (
            <>
              <Text span inherit c="dimmed" truncate>
                {plural(row.turns, "turn")} · {row.models.join(", ") || unknown}
              </Text>
              <Text span inherit size="xs" c="dimmed">
                <Time at={row.last} />
              </Text>
            </>
          ),
        })}
      />
      {hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Load older
          </Button>
        </Group>
      )}
    </>
  );
}

/** The cost of a session; null if no request has a known cost. */
export function cost(row: Row): string | null {
  return row.unpriced === row.turns ? null : row.cost_usd;
}

function First({ row }: { row: Row }) {
  return row.preview ? (
    <Redacted text={row.preview} />
  ) : (
    <Text span inherit c="dimmed">
      {row.id}
    </Text>
  );
}

function columnsOf(names: Record<string, string>): Column<Row>[] {
  return [
    { id: "last", label: "Last activity", render: (row) => <Time at={row.last} as="stack" /> },
    {
      id: "session",
      label: "Session",
      maxWidth: 130,
      render: (row) => (
        <span
          title={`${row.id} (${row.source === "given" ? "named by the client" : "derived from the conversation"})`}
        >
          {row.id}
        </span>
      ),
    },
    {
      id: "prompt",
      label: "First prompt",
      maxWidth: 220,
      render: (row) => <First row={row} />,
    },
    { id: "turns", label: "Turns", numeric: true, render: (row) => formatCount(row.turns) },
    {
      id: "models",
      label: "Models",
      maxWidth: 180,
      render: (row) => <span title={row.models.join(", ")}>{row.models.join(", ") || unknown}</span>,
    },
    { id: "cost", label: "Cost", numeric: true, render: (row) => <Money amount={cost(row)} /> },
    {
      id: "saved",
      label: "vs baseline",
      hint: "Cost compared with the baseline model, at list prices for the same tokens",
      numeric: true,
      render: (row) => formatChange(row.saved_percent),
    },
    {
      id: "duration",
      label: "Duration",
      hint: "From the first to the latest request",
      numeric: true,
      render: (row) => formatDuration(durationOf(row)),
    },
    {
      id: "client",
      label: "Client",
      maxWidth: 140,
      render: (row) => <span title={row.client}>{row.client || unknown}</span>,
    },
    {
      id: "key",
      label: "Key",
      maxWidth: 100,
      render: (row) => (row.key_id ? (names[row.key_id] ?? row.key_id) : "playground"),
    },
  ];
}
