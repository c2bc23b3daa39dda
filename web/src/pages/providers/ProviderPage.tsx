import { Anchor, Box, Group, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";

import type { Schema } from "../../api/client";
import { ApiError } from "../../api/errors";
import { providerQuery } from "../../api/market";
import { SimulatedBadge, StateBadge } from "../../components/badges";
import { Countdown } from "../../components/CircuitBadge";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PanelSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { formatCount, formatDuration, formatPercent, plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { ProviderCard } from "./ProviderCard";
import { CircuitLine } from "./ProviderHealth";
import { healthLook, hintText, unhealthyTargets } from "./providers";

type ProviderDetail = Schema["ProviderDetail"];

// Circuits open and close within seconds.
const refreshMs = 2000;

/** One provider: circuits and backoffs, its settings. */
export function ProviderPage() {
  const { name = "" }: { name?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery({ ...providerQuery(name), refetchInterval: refreshMs });
  return (
    <Box maw={1040}>
      <Anchor component={PageLink} to="/providers" size="sm">
        <Icon name="chevronLeft" size={12} /> Providers
      </Anchor>
      {error instanceof ApiError && error.status === 404 ? (
        <>
          <PageHeader title="Provider" />
          <EmptyState icon="server" title="Provider not found">
            No provider is named {name}. It may have been removed.
          </EmptyState>
        </>
      ) : (
        error && (
          <ErrorPanel what="Could not load the provider" error={error} onRetry={() => void refetch()} />
        )
      )}
      {!data && !error && <PanelSkeleton />}
      {data && <Loaded provider={data} />}
    </Box>
  );
}

function Loaded({ provider }: { provider: ProviderDetail }) {
  const { may, workspace } = useSession();
  const unhealthy = unhealthyTargets(provider);
  return (
    <>
      <PageHeader
        title={provider.title}
        description={
          <Group gap={6}>
            <StateBadge look={healthLook(provider)} />
            {provider.simulated && <SimulatedBadge />}
            <span>
              {provider.traffic.attempts > 0
                ? `${plural(provider.traffic.attempts, "call")} in 24 hours, ${formatPercent(provider.traffic.error_percent, 2)} failed`
                : "No calls in the last 24 hours"}
            </span>
          </Group>
        }
      />
      <Section title="Circuit breakers">
        {unhealthy.length === 0 ? (
          <Text size="sm">
            {provider.targets.length === 0
              ? "No models."
              : "No model is paused. A model is paused when its calls fail."}
          </Text>
        ) : (
          <Stack gap={4}>
            {unhealthy.map((t) => (
              <CircuitLine key={t.target} target={t} />
            ))}
          </Stack>
        )}
      </Section>
      <Section title="Rate limits and rejections">
        <Backoffs provider={provider} />
      </Section>
      <Section title="Models">
        <Models provider={provider} />
      </Section>
      <Section title="Settings">
        <ProviderCard
          provider={provider}
          editable={may("manage_providers")}
          connects={may("connect_providers")}
          operator={workspace.operator}
        />
      </Section>
    </>
  );
}

function Backoffs({ provider }: { provider: ProviderDetail }) {
  if (provider.backoffs.length === 0) {
    return <Text size="sm">No model or key is backing off.</Text>;
  }
  return (
    <Stack gap={4}>
      {provider.backoffs.map((b) => (
        <Text key={`${b.model} ${b.credential}`} size="sm">
          <b>{b.model ?? "All models"}</b>
          {b.credential && ` with key ${hintText(b.credential)}`}: {b.summary};{" "}
          <Countdown until={b.until} what="resumes" /> (<Time at={b.until} as="row" />)
          {b.repeated > 1 && ` · ${b.repeated} times in a row`}
        </Text>
      ))}
    </Stack>
  );
}

function Models({ provider }: { provider: ProviderDetail }) {
  const targets = [...provider.targets].sort(
    (a, b) => b.health.calls - a.health.calls || a.model.localeCompare(b.model),
  );
  return (
    <div style={{ overflow: "auto", maxHeight: 360 }} role="region" aria-label="Model table" tabIndex={0}>
      <Table fz="sm" aria-label={`${provider.title} models`}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Model</Table.Th>
            {["TTFT", "Tokens / s", "Recent calls", "Failed"].map((head) => (
              <Table.Th key={head} ta="right">
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {targets.map(({ target, model, health }) => (
            <Table.Tr key={target}>
              <Table.Td>
                <Anchor inherit component={PageLink} to="/models/$name" params={{ name: model }}>
                  {model}
                </Anchor>
              </Table.Td>
              <Table.Td ta="right">{formatDuration(health.ttft_ms)}</Table.Td>
              <Table.Td ta="right">
                {health.tokens_per_second == null ? "—" : formatCount(Math.round(health.tokens_per_second))}
              </Table.Td>
              <Table.Td ta="right">{formatCount(health.calls)}</Table.Td>
              <Table.Td ta="right">{formatPercent(health.error_percent)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
