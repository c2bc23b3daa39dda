import { Button, Code, Drawer, Group, Stack, Table, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { auditQuery, membersQuery } from "../../api/manage";
import { CopyButton } from "../../components/CopyButton";
import { type Column, DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { RowsSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { Time } from "../../components/Time";
import { useDensity } from "../../lib/preferences";
import { useSession } from "../../lib/session";
import { actionWords, changesOf, objectName, summary } from "./changes";

type Event = Schema["AuditEntry"];

/** The audit log, newest first. */
export function AuditPage() {
  const { may } = useSession();
  if (!may("read_audit")) {
    return (
      <>
        <PageHeader title="Audit log" />
        <EmptyState icon="ban" title="You don’t have access to the audit log">
          Only owners and admins can view it.
        </EmptyState>
      </>
    );
  }
  return <AuditLog />;
}

function AuditLog() {
  const members = useQuery(membersQuery);
  const names = Object.fromEntries((members.data?.members ?? []).map((m) => [m.account_id, m.email]));
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery(auditQuery);
  const [opened, setOpened] = useState<Event>();
  const [density] = useDensity();
  const events = data?.pages.flatMap((page) => page.events) ?? [];
  return (
    <>
      <PageHeader title="Audit log" description="Who changed what, newest first." />
      {error && (
        <ErrorPanel what="Could not load the audit log" error={error} onRetry={() => void refetch()} />
      )}
      {!data && !error && <RowsSkeleton />}
      {data && events.length === 0 && (
        <EmptyState icon="history" title="No changes yet">
          Changes to keys, members, settings and providers will appear here.
        </EmptyState>
      )}
      {events.length > 0 && (
        <DataTable
          label="Audit log"
          rows={events}
          columns={columnsOf(names)}
          rowKey={(event) => event.id}
          selected={opened?.id}
          dense={density === "compact"}
          onOpen={setOpened}
          phone={(event) => ({
            top: (
              <>
                <Text span inherit truncate>
                  <strong>{event.actor_label}</strong> {actionWords(event.action)}
                </Text>
                <Text span inherit size="xs" c="dimmed">
                  <Time at={event.at} />
                </Text>
              </>
            ),
            bottom: (
              <Text span inherit c="dimmed" truncate>
                {objectName(event, names)}: {summary(changesOf(event.before, event.after))}
              </Text>
            ),
          })}
        />
      )}
      {hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Load older
          </Button>
        </Group>
      )}
      <Drawer
        opened={opened !== undefined}
        onClose={() => setOpened(undefined)}
        position="right"
        size="lg"
        title={opened && `${opened.actor_label} ${actionWords(opened.action)}`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {opened && <EventDetail event={opened} />}
      </Drawer>
    </>
  );
}

function columnsOf(names: Record<string, string>): Column<Event>[] {
  return [
    { id: "at", label: "Time", render: (event) => <Time at={event.at} /> },
    { id: "who", label: "User", render: (event) => event.actor_label, maxWidth: 200 },
    { id: "what", label: "Action", render: (event) => actionWords(event.action) },
    {
      id: "object",
      label: "Object",
      render: (event) => <strong>{objectName(event, names)}</strong>,
      maxWidth: 200,
    },
    {
      id: "changes",
      label: "Change",
      maxWidth: 380,
      render: (event) => (
        <Text span inherit c="dimmed">
          {summary(changesOf(event.before, event.after))}
        </Text>
      ),
    },
  ];
}

function EventDetail({ event }: { event: Event }) {
  const changes = changesOf(event.before, event.after);
  const facts: [string, React.ReactNode][] = [
    ["Time", <Time key="at" at={event.at} as="moment" />],
    ["User", `${event.actor_label}${event.actor === event.actor_label ? "" : ` (${event.actor})`}`],
    ["Action", event.action],
    ["Object", event.object],
    ["Event ID", event.id],
  ];
  return (
    <Stack gap="md">
      <Table aria-label="Details" withRowBorders={false} verticalSpacing={2} layout="fixed">
        <Table.Tbody>
          {facts.map(([label, value]) => (
            <Table.Tr key={label}>
              <Table.Th scope="row" w={80} c="dimmed" fw={400}>
                {label}
              </Table.Th>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {changes.length === 0 ? (
        <Text size="sm" c="dimmed">
          No settings were recorded for this event. Passwords and secrets are never recorded.
        </Text>
      ) : (
        <Table aria-label="Changes" layout="fixed" fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Setting</Table.Th>
              <Table.Th>Before</Table.Th>
              <Table.Th>After</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changes.map((change) => (
              <Table.Tr key={change.field}>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{change.field}</Table.Td>
                <Value text={change.before} color="red" />
                <Value text={change.after} color="green" />
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Group>
        <CopyButton label="Copy as JSON" text={JSON.stringify(event, null, 2)} />
      </Group>
    </Stack>
  );
}

function Value({ text, color }: { text: string | undefined; color: string }) {
  return (
    <Table.Td style={{ overflowWrap: "anywhere" }}>
      {text === undefined ? (
        <Text span inherit c="dimmed">
          —
        </Text>
      ) : (
        <Code c={`var(--mantine-color-${color}-text)`}>{text === "" ? "(empty)" : text}</Code>
      )}
    </Table.Td>
  );
}
