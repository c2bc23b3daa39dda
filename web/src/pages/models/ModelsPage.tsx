import { Anchor, Box, Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { catalogQuery } from "../../api/market";
import { modelsQuery, newModelsQuery } from "../../api/queries";
import { StateBadge } from "../../components/badges";
import { CircuitBadge } from "../../components/CircuitBadge";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { RowsSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import type { Search } from "../../lib/filters";
import { formatCount, formatPercent, plural } from "../../lib/numbers";
import { useGo, useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { Marks, modelColumns } from "./columns";
import { ModelFilters } from "./ModelFilters";
import {
  type Choice,
  choiceOf,
  chosenModels,
  isUnpriced,
  type Row,
  withCatalog,
  worstCircuit,
} from "./models";
import classes from "./models.module.css";
import { NewModels } from "./NewModels";
import { PendingPrices } from "./PriceRefresh";
import { PriceCell } from "./PriceCells";
import { PriceDialog, type Pricing } from "./PriceDialog";
import { Scatter } from "./Scatter";

const refreshMs = 5000;

// Number of rows shown at first. The catalog has hundreds of models.
const shownRows = 60;

/** The models with their providers, prices, share of traffic and health. */
export function ModelsPage() {
  const [search, change] = useSearchParams();
  const { data, error, refetch } = useQuery({
    ...modelsQuery,
    staleTime: refreshMs,
    refetchInterval: refreshMs,
  });
  const { data: found } = useQuery({ ...newModelsQuery, refetchInterval: 60_000 });
  const { data: catalog } = useQuery({ ...catalogQuery, refetchInterval: 60_000 });
  const rows = useMemo(() => data && withCatalog(data.models, catalog?.models ?? []), [data, catalog]);
  const { may } = useSession();
  const onPrice = may("manage_models") ? (chosen: Pricing) => setPricing(chosen) : undefined;
  const [pricing, setPricing] = useState<Pricing>();
  const choice = choiceOf(search);
  return (
    <>
      <PageHeader
        title="Models"
        description="All models in the catalog. Prices are in dollars per million tokens. Share, TTFT and errors cover the last 24 hours."
        actions={
          data &&
          found &&
          found.models.length > 0 && (
            <Anchor href="#new-models" size="sm">
              {plural(found.models.length, "new model")} seen
            </Anchor>
          )
        }
      />
      {rows ? (
        <>
          {catalog && choice.kind === "chat" && (
            <Box mb="sm">
              <Scatter models={catalog.models} tasks={catalog.tasks} />
            </Box>
          )}
          <ModelFilters models={rows} choice={choice} onChange={change} />
          <List
            models={rows}
            choice={choice}
            connects={may("connect_providers")}
            onChange={change}
            onPrice={onPrice}
          />
          <PendingPrices />
          {found && <NewModels models={found.models} onPrice={onPrice} />}
          <PriceDialog pricing={pricing} onClose={() => setPricing(undefined)} />
        </>
      ) : error ? (
        <ErrorPanel what="Could not load models" error={error} onRetry={() => void refetch()} />
      ) : (
        <RowsSkeleton rows={10} height={44} />
      )}
    </>
  );
}

function List({
  models,
  choice,
  connects,
  onChange,
  onPrice,
}: {
  models: Row[];
  choice: Choice;
  connects: boolean;
  onChange: (change: Search) => void;
  onPrice: ((pricing: Pricing) => void) | undefined;
}) {
  const go = useGo();
  const [all, setAll] = useState(false);
  const rows = chosenModels(models, choice);
  if (rows.length === 0) {
    return <NoModels models={models} choice={choice} onChange={onChange} />;
  }
  return (
    <div className={classes.models}>
      <DataTable
        label="Models"
        dense
        rows={rows}
        columns={modelColumns(choice.kind, connects, onPrice)}
        rowKey={(m) => m.name}
        phone={phoneRow}
        limit={all ? undefined : shownRows}
        onOpen={(m) => void go({ to: "/models/$name", params: { name: m.name } })}
      />
      <Group gap="sm" mt="xs">
        <Text size="xs" c="dimmed" role="status">
          {plural(rows.length, "model")}
        </Text>
        {!all && rows.length > shownRows && (
          <Button size="compact-xs" variant="subtle" onClick={() => setAll(true)}>
            Show all {formatCount(rows.length)} models
          </Button>
        )}
      </Group>
    </div>
  );
}

function NoModels({
  models,
  choice,
  onChange,
}: {
  models: Row[];
  choice: Choice;
  onChange: (change: Search) => void;
}) {
  const other = choice.kind === "chat" ? "embeddings" : "chat";
  const otherCount = chosenModels(models, { ...choice, kind: other, ability: undefined }).length;
  if (models.length === 0) {
    return (
      <EmptyState
        icon="cpu"
        title="No models"
        actions={
          <Button component={Link} to="/providers">
            Open Providers
          </Button>
        }
      >
        No provider is enabled. Add a provider key or enable a provider.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="No results"
      actions={
        <>
          <Button
            variant="default"
            onClick={() =>
              onChange({ q: undefined, provider: undefined, ability: undefined, show: undefined })
            }
          >
            Clear filters
          </Button>
          {otherCount > 0 && (
            <Button
              variant="default"
              onClick={() => onChange({ kind: other === "chat" ? undefined : other, ability: undefined })}
            >
              Show {plural(otherCount, other === "chat" ? "chat model" : "embedding model")}
            </Button>
          )}
        </>
      }
    />
  );
}

function phoneRow(m: Row) {
  const circuit = worstCircuit(m.targets);
  return {
    top: (
      <>
        <Group gap={6} wrap="nowrap" miw={0}>
          <Text span fw={600} size="sm" truncate>
            {m.name}
          </Text>
          <Marks model={m} />
        </Group>
        {circuit.circuit !== "closed" && <CircuitBadge {...circuit} />}
      </>
    ),
    bottom: (
      <>
        <Text span size="xs" c="dimmed" truncate>
          {m.targets.length === 0
            ? "Not connected"
            : `${formatPercent(m.share_percent)} · ${formatCount(m.traffic.requests)} requests`}
        </Text>
        {isUnpriced(m) ? (
          <StateBadge look={{ icon: "alert", colour: "orange", word: "no price" }} />
        ) : (
          <Text span size="xs">
            <PriceCell model={m} of="input" />
            {m.kind === "chat" && (
              <>
                {" / "}
                <PriceCell model={m} of="output" />
              </>
            )}
          </Text>
        )}
      </>
    ),
  };
}
