import { Alert, Box, Group, Stack, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { SimulatedBadge } from "../../components/badges";
import { ErrorPanel } from "../../components/ErrorPanel";
import { FilterBar } from "../../components/FilterBar";
import { PanelSkeleton, RowsSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { RangePicker, InvalidRange } from "../../components/RangePicker";
import { cleared, type Filters, filtersOf, type Search } from "../../lib/filters";
import { useShortcuts } from "../../lib/keyboard";
import { useZone } from "../../lib/preferences";
import { type Range, rangeOf, invalidEnds } from "../../lib/range";
import { useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { zoneName } from "../../lib/time";
import { AttentionList } from "./AttentionList";
import { BaselineNote } from "./BaselineNote";
import { Breakdown } from "./Breakdown";
import { Charts } from "./Charts";
import { EmptyOverview } from "./EmptyOverview";
import {
  coverageText,
  type Dimension,
  dimensions,
  figureFilters,
  requestsSearch,
  simulatedOf,
  sourceOf,
} from "./figures";
import { LiveControls } from "./LiveControls";
import { Tiles, TilesSkeleton } from "./Tiles";
import { useOverview } from "./useOverview";

/** Spend, savings and decisions of a period, and conditions that need attention. */
export function OverviewPage() {
  const [search, change] = useSearchParams();
  const { server } = useSession();
  const [live, setLive] = useState(false);
  const [zone] = useZone();
  useShortcuts([{ keys: "l", label: "Toggle live updates", run: () => setLive(!live) }]);
  const filters = figureFilters(filtersOf(search));
  const range = rangeOf(search);
  const chosen = simulatedOf(search);
  const source = sourceOf(search);
  const { query, shown, onlySimulated, waiting, facets } = useOverview({
    filters,
    range,
    simulated: chosen,
    source,
    onlySimulator: server.simulated,
    live,
    zone: zoneName(zone),
  });
  const include = (yes: boolean) => {
    const byDefault = server.simulated || onlySimulated;
    change({ simulated: yes === byDefault ? undefined : yes ? "include" : "false" });
  };
  return (
    <>
      <PageHeader
        title="Overview"
        actions={
          <LiveControls
            live={live}
            onLive={setLive}
            simulated={shown !== "false"}
            onSimulated={include}
            playground={source !== "key"}
            onPlayground={(yes) => change({ source: yes ? "all" : undefined })}
            refreshedAt={query.dataUpdatedAt}
          />
        }
      />
      <FilterBar
        filters={filters}
        facets={facets}
        names={[...dimensions]}
        done="Apply filters"
        onChange={change}
        onClear={() => change(cleared())}
        before={<RangePicker range={range} onChange={({ from, to }) => change({ from, to }, true)} />}
      />
      <InvalidRange ends={invalidEnds(search)} range={range} />
      {onlySimulated && chosen === undefined && !server.simulated && <SimulatedNote />}
      {query.error && !query.data ? (
        <ErrorPanel
          what="Could not load the overview"
          error={query.error}
          onRetry={() => void query.refetch()}
        />
      ) : waiting || !query.data ? (
        <OverviewSkeleton />
      ) : (
        <Box opacity={query.isPlaceholderData ? 0.55 : 1}>
          {query.error && (
            <Box mb="sm">
              <ErrorPanel
                what="Could not refresh the figures"
                error={query.error}
                onRetry={() => void query.refetch()}
              />
            </Box>
          )}
          <Figures
            overview={query.data}
            filters={filters}
            range={range}
            simulated={shown}
            source={source}
            simulatedOnly={onlySimulated && shown === "false"}
            dimension={dimensionOf(search)}
            change={change}
            onSimulated={() => include(true)}
          />
        </Box>
      )}
    </>
  );
}

function dimensionOf(search: Search): Dimension {
  return dimensions.find((name) => name === search.by) ?? "model";
}

interface FiguresProps {
  overview: Schema["Overview"];
  filters: Filters;
  range: Range;
  simulated: string | undefined;
  source: string | undefined;
  simulatedOnly: boolean;
  dimension: Dimension;
  change: (change: Search, push?: boolean) => void;
  onSimulated: () => void;
}

function Figures({
  overview,
  filters,
  range,
  simulated,
  source,
  simulatedOnly,
  dimension,
  change,
  onSimulated,
}: FiguresProps) {
  const navigate = useNavigate();
  const all: Filters = { ...filters, simulated, source };
  const open = (search: Search) => void navigate({ to: "/requests", search: search as never });
  if (overview.current.requests === 0) {
    return (
      <Stack gap="sm">
        {overview.attention.length > 0 && <AttentionList items={overview.attention} />}
        <EmptyOverview
          range={range}
          filtered={Object.values(filters).some(Boolean)}
          simulatedOnly={simulatedOnly}
          onClear={() => change(cleared())}
          onRange={({ from, to }) => change({ from, to })}
          onSimulated={onSimulated}
          onPlayground={source === "key" ? () => change({ source: "all" }) : undefined}
        />
        {overview.attention.length === 0 && <AttentionList items={overview.attention} />}
      </Stack>
    );
  }
  const searchFor = (more?: Filters) => requestsSearch(all, range, more);
  return (
    <Stack gap="md">
      {overview.attention.length > 0 && <AttentionList items={overview.attention} />}
      <Tiles overview={overview} searchFor={searchFor} />
      <Text size="xs" c="dimmed">
        Estimated from the same token counts at list prices. Another model might use more or fewer tokens.{" "}
        {coverageText(overview.current)}. <BaselineNote />
      </Text>
      <Charts
        overview={overview}
        onZoom={({ from, to }) => change({ from, to }, true)}
        searchIn={(span, more) => requestsSearch(all, span, more)}
        onOpen={open}
      />
      <Breakdown
        breakdowns={overview.breakdowns}
        requests={overview.current.requests}
        dimension={dimension}
        onDimension={(by) => change({ by: by === "model" ? undefined : by })}
        searchFor={searchFor}
        onOpen={open}
      />
      {overview.attention.length === 0 && <AttentionList items={overview.attention} />}
    </Stack>
  );
}

function SimulatedNote() {
  return (
    <Alert color="grape" variant="outline" py={6} mb="sm" role="status">
      <Group gap="xs">
        <SimulatedBadge />
        <span>Only simulated requests in this time range. Responses and costs are not real.</span>
      </Group>
    </Alert>
  );
}

function OverviewSkeleton() {
  return (
    <Stack gap="md">
      <TilesSkeleton />
      <PanelSkeleton height={300} />
      <RowsSkeleton rows={5} />
    </Stack>
  );
}
