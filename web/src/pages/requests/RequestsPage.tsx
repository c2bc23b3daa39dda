import { Affix, Button, Group, Switch, Text, TextInput } from "@mantine/core";
import { useWindowScroll } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";

import type { Schema } from "../../api/client";
import { facetsQuery, histogramQuery, keysQuery } from "../../api/queries";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { FilterBar } from "../../components/FilterBar";
import { Icon } from "../../components/Icon";
import { RowsSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { RangePicker, InvalidRange } from "../../components/RangePicker";
import { cleared, type Filters, filtersOf } from "../../lib/filters";
import { useShortcuts } from "../../lib/keyboard";
import { formatCount, plural } from "../../lib/numbers";
import { useDensity, useZone } from "../../lib/preferences";
import { isRelative, type Range, rangeOf, invalidEnds } from "../../lib/range";
import { useGo, useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { useStored } from "../../lib/stored";
import { zoneName } from "../../lib/time";
import { chosenColumns, phoneLines, defaultColumns } from "./columns";
import { RequestDrawer } from "./detail/RequestDrawer";
import { Histogram } from "./Histogram";
import { ColumnPicker, DensitySwitch, ExportMenu } from "./ListTools";
import { MoreFilters, PresetSelect } from "./MoreFilters";
import { NoRequests } from "./NoRequests";
import { useLiveRows, useRequestCount, useRequestPages } from "./useRequests";

// Presets that sort by another value than time, so new requests cannot be added on top.
const sortedPresets = new Set(["expensive", "slowest"]);

/** The request log, newest first, with filters in the URL and live updates. */
export function RequestsPage() {
  const [search, setSearch] = useSearchParams();
  const filters = filtersOf(search);
  const range = rangeOf(search);
  const [columns, setColumns] = useStored("request-columns", defaultColumns);
  const [exporting, setExporting] = useState(false);
  const canBeLive = isRelative(range) && !range.to && !sortedPresets.has(filters.preset ?? "");
  const live = search["live"] === "1" && canBeLive;
  const change = (next: Filters) => setSearch({ ...next, id: undefined });
  const toggleLive = () => setSearch({ live: search["live"] === "1" ? undefined : "1" });
  useShortcuts([
    { keys: "l", label: "Toggle live updates", run: toggleLive },
    { keys: "e", label: "Export", run: () => setExporting(true) },
  ]);
  return (
    <>
      <PageHeader
        title="Requests"
        description={<Count filters={filters} range={range} />}
        actions={
          <>
            <Switch
              size="sm"
              label="Live"
              checked={live}
              disabled={!canBeLive}
              onChange={toggleLive}
              title={
                canBeLive ? undefined : "Live updates need a time range that ends now, sorted newest first."
              }
            />
            <DensitySwitch />
            <ColumnPicker chosen={columns} onChange={setColumns} />
            <ExportMenu
              filters={filters}
              range={range}
              columns={columns}
              opened={exporting}
              onChange={setExporting}
            />
          </>
        }
      />
      <RequestFilters
        filters={filters}
        range={range}
        onChange={change}
        onRange={(next) => setSearch({ ...next, to: next.to })}
      />
      <InvalidRange ends={invalidEnds(search)} range={range} />
      <Volume filters={filters} range={range} onZoom={(from, to) => setSearch({ from, to }, true)} />
      <RequestList
        filters={filters}
        range={range}
        columns={columns}
        live={live}
        open={search["id"]}
        onOpen={(id) => setSearch({ id }, search["id"] === undefined)}
        onChange={(next) => setSearch(next)}
      />
    </>
  );
}

function Count({ filters, range }: { filters: Filters; range: Range }) {
  const { data } = useRequestCount(filters, range);
  if (!data) {
    return <>All requests to the API</>;
  }
  return (
    <>
      {data.more && "More than "}
      {plural(data.count, "matching request")}
    </>
  );
}

interface FiltersProps {
  filters: Filters;
  range: Range;
  onChange: (change: Filters) => void;
  onRange: (range: Range) => void;
}

function RequestFilters({ filters, range, onChange, onRange }: FiltersProps) {
  const { may } = useSession();
  const field = useRef<HTMLInputElement>(null);
  const facets = useQuery(facetsQuery(range));
  const keys = useQuery({ ...keysQuery, enabled: filters.key !== undefined && may("read_keys") });
  useShortcuts([{ keys: "/", label: "Search", run: () => field.current?.focus() }]);
  return (
    <FilterBar
      filters={filters}
      facets={facets.data}
      names={["decision", "outcome", "model", "provider", "policy", "key"]}
      onChange={onChange}
      onClear={() => onChange(cleared())}
      labels={{ key: Object.fromEntries(keys.data?.keys.map((key) => [key.id, key.name]) ?? []) }}
      before={
        <>
          <RangePicker range={range} onChange={onRange} />
          <PresetSelect filters={filters} onChange={onChange} />
          {may("read_bodies") && (
            <form
              key={filters.q}
              onSubmit={(event) => {
                event.preventDefault();
                onChange({ q: field.current?.value.trim() || undefined });
              }}
            >
              <TextInput
                ref={field}
                size="xs"
                w={180}
                aria-label="Search previews, ids and errors"
                placeholder="Search"
                leftSection={<Icon name="search" size={14} />}
                defaultValue={filters.q ?? ""}
              />
            </form>
          )}
        </>
      }
      more={<MoreFilters filters={filters} onChange={onChange} />}
    />
  );
}

interface VolumeProps {
  filters: Filters;
  range: Range;
  onZoom: (from: string, to: string) => void;
}

function Volume({ filters, range, onZoom }: VolumeProps) {
  const [zone] = useZone();
  const { data, isPlaceholderData, error } = useQuery(histogramQuery(filters, range, zoneName(zone)));
  if (error || !data || data.bins.every((bin) => bin.requests === 0)) {
    return null;
  }
  return <Histogram histogram={data} onZoom={onZoom} dimmed={isPlaceholderData} />;
}

interface ListProps {
  filters: Filters;
  range: Range;
  columns: string[];
  live: boolean;
  open: string | undefined;
  onOpen: (id: string | undefined) => void;
  onChange: (change: Record<string, string | undefined>) => void;
}

function RequestList({ filters, range, columns, live, open, onOpen, onChange }: ListProps) {
  const go = useGo();
  const [density] = useDensity();
  const [scroll, scrollTo] = useWindowScroll();
  const pages = useRequestPages(filters, range);
  const listed: Schema["RequestRow"][] = pages.data?.pages.flatMap((page) => page.requests) ?? [];
  const { rows, waiting, flush, state } = useLiveRows(listed, {
    filters,
    range,
    enabled: live,
    paused: open !== undefined || scroll.y > 300,
    onLost: () => void pages.refetch(),
  });
  if (pages.error && !pages.data) {
    return (
      <ErrorPanel what="Could not load requests" error={pages.error} onRetry={() => void pages.refetch()} />
    );
  }
  if (pages.isPending) {
    return <RowsSkeleton rows={12} />;
  }
  const unfinished = pages.data?.pages.at(-1)?.unfinished ?? false;
  const older = pages.hasNextPage && (
    <Button
      variant="default"
      size="xs"
      loading={pages.isFetchingNextPage}
      onClick={() => void pages.fetchNextPage()}
    >
      {unfinished ? "Continue search" : "Load older"}
    </Button>
  );
  if (rows.length === 0 && unfinished) {
    return (
      <EmptyState icon="clock" title="No results yet" actions={older}>
        The search reached its time limit. Older requests were not searched.
      </EmptyState>
    );
  }
  if (rows.length === 0) {
    return <NoRequests filters={filters} range={range} live={live} onChange={onChange} />;
  }
  return (
    <>
      {waiting > 0 && (
        <Affix position={{ top: 64, left: "50%" }}>
          <Button
            size="xs"
            radius="xl"
            onClick={() => {
              flush();
              scrollTo({ y: 0 });
            }}
          >
            {formatCount(waiting)} new ↑
          </Button>
        </Affix>
      )}
      <DataTable
        label="Requests"
        rows={rows}
        columns={chosenColumns(columns)}
        rowKey={(row) => row.id}
        phone={phoneLines}
        selected={open}
        dense={density === "compact"}
        dimmed={pages.isPlaceholderData}
        onOpen={(row, asPage) =>
          asPage ? void go({ to: "/requests/$id", params: { id: row.id } }) : onOpen(row.id)
        }
      />
      <Group justify="center" my="md" gap="md">
        {unfinished && (
          <Text size="xs" c="dimmed" role="status">
            The search reached its time limit. There may be more results.
          </Text>
        )}
        {older}
        {live && (
          <Text size="xs" c="dimmed" role="status">
            {state === "live"
              ? "Live updates on"
              : state === "paused"
                ? "Live updates paused. Resume them in the top bar."
                : "Connecting…"}
          </Text>
        )}
      </Group>
      <RequestDrawer id={open} ids={rows.map((row) => row.id)} onOpen={onOpen} />
    </>
  );
}
