import { Anchor, Badge, Box, Button, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";

import type { Schema } from "../../api/client";
import { ApiError } from "../../api/errors";
import { modelQuery } from "../../api/market";
import { SimulatedBadge } from "../../components/badges";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Figure } from "../../components/Figure";
import { Icon } from "../../components/Icon";
import { PanelSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { Section } from "../../components/Section";
import { joinList } from "../../lib/filters";
import { formatMoney } from "../../lib/money";
import { formatDuration, formatPercent, formatQuality, formatWindow, plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { ObservedTable, PriceTable } from "./ModelTables";
import { abilityText, formatListPrice, isSimulated, needText, notableFirst } from "./models";
import { TaskQuality } from "./TaskQuality";

/** A model with all its details. */
export type ModelDetail = Schema["ModelDetail"];

const refreshMs = 15_000;

/** One model: prices, quality by task type, observed speed and errors, traffic. */
export function ModelPage() {
  const { name = "" }: { name?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery({ ...modelQuery(name), refetchInterval: refreshMs });
  return (
    <Box maw={1040}>
      <Anchor component={PageLink} to="/routing/models" size="sm">
        <Icon name="chevronLeft" size={12} /> Models
      </Anchor>
      {error instanceof ApiError && error.status === 404 ? (
        <>
          <PageHeader title="Model" />
          <EmptyState icon="cpu" title="Model not found">
            Neither the catalog nor a connected provider has a model named {name}.
          </EmptyState>
        </>
      ) : (
        error && <ErrorPanel what="Could not load the model" error={error} onRetry={() => void refetch()} />
      )}
      {!data && !error && <PanelSkeleton />}
      {data && <Loaded key={data.name} model={data} />}
    </Box>
  );
}

function Loaded({ model }: { model: ModelDetail }) {
  const { may } = useSession();
  const vendors = model.offers.filter((o) => o.connect);
  return (
    <>
      <PageHeader
        title={model.name}
        description={
          <Group gap={6}>
            <span>{summary(model)}</span>
            {isSimulated(model) && <SimulatedBadge />}
            {!model.connected && (
              <Badge size="sm" color="gray" radius="sm">
                not connected
              </Badge>
            )}
            {model.deprecated && (
              <Badge size="sm" color="orange" radius="sm">
                deprecated
              </Badge>
            )}
          </Group>
        }
        actions={
          <>
            {model.connected && (
              <Button
                size="xs"
                variant="default"
                component={PageLink}
                to="/requests"
                search={{ model: joinList([model.name]), from: "now-30d" }}
              >
                Show requests
              </Button>
            )}
            {!model.connected && vendors[0] && may("connect_providers") && (
              <Button
                size="xs"
                component={PageLink}
                to="/providers"
                search={{ connect: vendors[0].provider }}
              >
                Connect {vendors[0].provider}
              </Button>
            )}
          </>
        }
      />
      <Figures model={model} />
      {model.kind === "chat" && (
        <Section title="Quality by task type">
          <TaskQuality model={model} />
        </Section>
      )}
      <Section title="Prices">
        <PriceTable model={model} connects={may("connect_providers")} />
      </Section>
      <Section title="Observed in the last 30 days">
        <ObservedTable model={model} />
      </Section>
      <Section title="Capabilities and requirements">
        <Stack gap="xs">
          <Group gap={6}>
            {notableFirst(model.abilities).map((ability) => (
              <Badge key={ability} color="gray" radius="sm">
                {abilityText(ability)}
              </Badge>
            ))}
            {model.abilities.length === 0 && <Text size="sm">No special capabilities.</Text>}
          </Group>
          {model.needs.map((need) => (
            <Text key={need} size="sm">
              {needText(need)}
            </Text>
          ))}
          {model.aliases.length > 0 && (
            <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
              Other names: {model.aliases.join(", ")}
            </Text>
          )}
        </Stack>
      </Section>
    </>
  );
}

function summary(model: ModelDetail): string {
  return [
    isSimulated(model) ? "" : model.vendor,
    model.kind === "chat" ? "" : model.kind,
    model.open_weights ? "open weights" : "",
    model.released ? `released ${model.released}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

function Figures({ model }: { model: ModelDetail }) {
  const { price, rating, month } = model;
  return (
    <SimpleGrid cols={{ base: 2, md: 5 }} spacing="sm" mb="xl">
      <Figure
        label="Input / output price"
        value={
          price
            ? `${formatListPrice(price.input_per_mtok_usd)} / ${formatListPrice(price.output_per_mtok_usd)}`
            : "—"
        }
      >
        {price ? (
          <>
            Per million tokens; typical {formatListPrice(price.typical_per_mtok_usd)}
            {model.connected ? "" : " · list price"}
          </>
        ) : (
          "No price set"
        )}
      </Figure>
      <Figure label="Quality" value={formatQuality(rating?.mean)}>
        {rating
          ? `95 % interval ${formatQuality(rating.low)} to ${formatQuality(rating.high)}`
          : "Quality unknown"}
      </Figure>
      <Figure label="Context" value={formatWindow(model.context)}>
        {model.max_output ? `${formatWindow(model.max_output)} output` : "Output limit unknown"}
      </Figure>
      <Figure label="Your traffic, 30 days" value={plural(month.requests, "request")}>
        {month.requests > 0
          ? `${formatPercent(model.month_share_percent)} of requests · ${formatMoney(month.cost_usd)}`
          : "No requests"}
      </Figure>
      <Figure label="Time to first token" value={formatDuration(month.ttft_p50_ms)}>
        {month.requests > 0
          ? `Latency p95 ${formatDuration(month.latency_p95_ms)} · ${formatPercent(month.error_percent)} errors`
          : "No requests"}
      </Figure>
    </SimpleGrid>
  );
}
