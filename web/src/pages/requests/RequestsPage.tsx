import { Affix, Button, Group, Switch, Text, TextInput } from "@mantine/core";
import { useWindowScroll } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";

import type { Schema } from "../../api/client";
import { facetsQuery, histogramQuery, keysQuery } from "../../api/queries";
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
import { useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { useStored } from "../../lib/stored";
import { usePhone } from "../../lib/usePhone";
import { formatBriefTime, zoneName } from "../../lib/time";
import { chosenColumns, defaultColumns } from "./columns";
import { togglePick } from "./compare";
import { CompareBar } from "./CompareBar";
import { RequestDrawer } from "./detail/RequestDrawer";
import { Histogram } from "./Histogram";
import { ChartSwitch, ColumnPicker, DensitySwitch, ExportMenu } from "./ListTools";
import { MoreFilters } from "./MoreFilters";
import { NoRequests } from "./NoRequests";
import { PresetMenu } from "./PresetMenu";
import { RequestTable } from "./RequestTable";
import { type Sort, sortNote, sortOf, sortParameter } from "./sort";
import { useLiveRows, useRequestCount, useRequestPages } from "./useRequests";

/** The request log, newest first, with filters and order in the URL and live updates. */
export function RequestsPage() {
  const [search, setSearch] = useSearchParams();
  const filters = filtersOf(search);
  const range = rangeOf(search);
  const sort = sortOf(search, filters);
  const [columns, setColumns] = useStored("request-list-columns", defaultColumns);
  const [chart, setChart] = useStored("request-chart", true);
  const phone = usePhone();
  const [exporting, setExporting] = useState(false);
  // A list in another order cannot show new requests on top.
  const canBeLive = isRelative(range) && !range.to && sort === "time" && !filters.text;
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
        compact
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
                canBeLive
                  ? undefined
                  : "Live updates need newest-first order, a time range that ends now and no text search."
              }
            />
            <ChartSwitch shown={chart} onChange={setChart} />
            {!phone && <DensitySwitch />}
            {!phone && <ColumnPicker chosen={columns} onChange={setColumns} />}
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
        presets={
          <PresetMenu
            preset={filters.preset}
            onChange={(preset) => setSearch({ ...cleared(), preset, sort: undefined, id: undefined })}
          />
        }
      />
      <InvalidRange ends={invalidEnds(search)} range={range} />
      {chart && !filters.text && (
        <Volume filters={filters} range={range} onZoom={(from, to) => setSearch({ from, to }, true)} />
      )}
      <RequestList
        filters={filters}
        range={range}
        sort={sort}
        columns={columns}
        live={live}
        open={search["id"]}
        onOpen={(id) => setSearch({ id, tab: id && search["tab"] }, search["id"] === undefined)}
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
  presets: ReactNode;
}

function RequestFilters({ filters, range, onChange, onRange, presets }: FiltersProps) {
  const { may } = useSession();
  const field = useRef<HTMLInputElement>(null);
  const facets = useQuery(facetsQuery(range));
  const keys = useQuery({ ...keysQuery, enabled: filters.key !== undefined && may("read_keys") });
  useShortcuts([{ keys: "/", label: "Search", run: () => field.current?.focus() }]);
  return (
    <FilterBar
      filters={filters}
      facets={facets.data}
      names={["model", "outcome", "key"]}
      onChange={onChange}
      onClear={() => onChange(cleared())}
      labels={{ key: Object.fromEntries(keys.data?.keys.map((key) => [key.id, key.name]) ?? []) }}
      before={
        <>
          <RangePicker range={range} onChange={onRange} />
          {presets}
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
                w={190}
                aria-label="Search previews, IDs and errors"
                placeholder="Search"
                leftSection={<Icon name="search" size={14} />}
                defaultValue={filters.q ?? ""}
              />
            </form>
          )}
        </>
      }
      more={<MoreFilters filters={filters} facets={facets.data} onChange={onChange} />}
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
  sort: Sort;
  columns: string[];
  live: boolean;
  open: string | undefined;
  onOpen: (id: string | undefined) => void;
  onChange: (change: Record<string, string | undefined>) => void;
}

function RequestList({ filters, range, sort, columns, live, open, onOpen, onChange }: ListProps) {
  const [picked, setPicked] = useState<string[]>([]);
  const [density] = useDensity();
  const [zone] = useZone();
  const [scroll, scrollTo] = useWindowScroll();
  const pages = useRequestPages(filters, range, sort);
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
  const note = sortNote(sort, rows.length);
  const last = pages.data?.pages.at(-1);
  const unfinished = last?.unfinished ?? false;
  const searched = last?.searched_to ? `Searched back to ${formatBriefTime(last.searched_to, zone)}.` : "";
  const older = pages.hasNextPage && (
    <Button
      variant="default"
      size="xs"
      loading={pages.isFetchingNextPage}
      onClick={() => void pages.fetchNextPage()}
    >
      {unfinished ? "Search further" : "Load older"}
    </Button>
  );
  if (rows.length === 0 && unfinished) {
    return (
      <EmptyState icon="clock" title="No results yet" actions={older}>
        {searched} Older requests were not searched.
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
      <RequestTable
        rows={rows}
        columns={chosenColumns(columns)}
        sort={sort}
        onSort={(next) => onChange({ sort: sortParameter(next, filters), id: undefined })}
        open={open}
        onOpen={onOpen}
        picked={picked}
        onPick={(id) => setPicked((before) => togglePick(before, id))}
        dense={density === "compact"}
        dimmed={pages.isPlaceholderData}
      />
      <Group justify="center" my="md" gap="md">
        {unfinished && (
          <Text size="xs" c="dimmed" role="status">
            {searched} There may be more results.
          </Text>
        )}
        {older}
        {note && (
          <Text size="xs" c="dimmed" role="status">
            {note}
          </Text>
        )}
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
      <CompareBar picked={picked} onClear={() => setPicked([])} />
      <RequestDrawer id={open} ids={rows.map((row) => row.id)} onOpen={onOpen} />
    </>
  );
}
