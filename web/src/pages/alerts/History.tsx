import { Button, Group, Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";

import { StateBadge } from "../../components/badges";
import { type Column, DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { RowsSkeleton } from "../../components/Loading";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { type AlertDelivery, type AlertEvent, alertHistoryQuery } from "./query";

const events = {
  firing: { icon: "alert", colour: "red", word: "firing" },
  recovered: { icon: "check", colour: "green", word: "recovered" },
  test: { icon: "play", colour: "gray", word: "test" },
} as const;

const deliveries = {
  delivered: { icon: "check", colour: "green", word: "delivered" },
  pending: { icon: "clock", colour: "blue", word: "retrying" },
  failed: { icon: "x", colour: "red", word: "failed" },
} as const;

/** Threshold crossings and tests with their deliveries. */
export function History() {
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery(alertHistoryQuery);
  const rows = data?.pages.flatMap((page) => page.events) ?? [];
  const columns: Column<AlertEvent>[] = [
    { id: "time", label: "Time", render: (e) => <Time at={e.at} /> },
    { id: "event", label: "Event", render: (e) => <StateBadge look={events[e.type]} /> },
    { id: "rule", label: "Rule", render: (e) => e.rule_name, maxWidth: 220 },
    { id: "text", label: "Description", render: (e) => e.text, maxWidth: 480 },
    { id: "sent", label: "Deliveries", render: (e) => <Deliveries event={e} /> },
  ];
  return (
    <Section title="History">
      {error && <ErrorPanel what="Could not load the history" error={error} onRetry={() => void refetch()} />}
      {isPending && <RowsSkeleton rows={3} />}
      {data && rows.length === 0 && (
        <EmptyState icon="history" title="No events yet">
          Alerts, recoveries and test messages from the last 90 days appear here.
        </EmptyState>
      )}
      {rows.length > 0 && (
        <Stack gap="sm">
          <DataTable
            label="Alert history"
            rows={rows}
            columns={columns}
            rowKey={(e) => e.id}
            phone={(e) => ({
              top: (
                <>
                  <Text fw={600} truncate>
                    {e.rule_name}
                  </Text>
                  <StateBadge look={events[e.type]} />
                </>
              ),
              bottom: (
                <>
                  <Text size="xs" c="dimmed">
                    <Time at={e.at} />
                  </Text>
                  <Deliveries event={e} />
                </>
              ),
            })}
          />
          {hasNextPage && (
            <Button
              variant="default"
              w="fit-content"
              loading={isFetchingNextPage}
              onClick={() => void fetchNextPage()}
            >
              Load older
            </Button>
          )}
        </Stack>
      )}
    </Section>
  );
}

function Deliveries({ event }: { event: AlertEvent }) {
  if (event.deliveries.length === 0) {
    return (
      <Text span inherit c="dimmed">
        {event.muted ? "not sent" : "—"}
      </Text>
    );
  }
  return (
    <Group gap={6}>
      {event.deliveries.map((delivery) => (
        <Group key={delivery.channel_id} gap={4} wrap="nowrap">
          <StateBadge look={deliveries[delivery.state]} detail={deliveryDetail(delivery)} />
          <Text span size="xs" c="dimmed">
            {delivery.channel_name}
          </Text>
        </Group>
      ))}
    </Group>
  );
}

/** Explains a delivery on hover. */
export function deliveryDetail(delivery: AlertDelivery): string {
  const attempts = `${delivery.attempts} ${delivery.attempts === 1 ? "attempt" : "attempts"}`;
  return delivery.error ? `${attempts}. Last error: ${delivery.error}` : attempts;
}
