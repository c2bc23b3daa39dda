import { Anchor, Button, Group, Modal, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { PageLink } from "../../components/PageLink";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { useSession } from "../../lib/session";
import { taskLabel } from "../../lib/tasks";
import { type DiffPart, wordDiff } from "../../lib/wordDiff";
import { exampleQuery } from "./examples";
import classes from "./examples.module.css";
import { formatPoints } from "./figures";

type Example = Schema["ComparisonExample"];

/** A table of comparisons. A button shows both responses side by side. */
export function Examples({ title, rows }: { title: string; rows: Example[] }) {
  const [shown, setShown] = useState<Example | undefined>();
  const { may } = useSession();
  if (rows.length === 0) {
    return null;
  }
  return (
    <Section title={title}>
      <div className={classes.scroll} role="region" aria-label={`${title}, table`} tabIndex={0}>
        <Table fz="sm" aria-label={title}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Time</Table.Th>
              <Table.Th>Task</Table.Th>
              <Table.Th>Routed model</Table.Th>
              <Table.Th>Baseline model</Table.Th>
              <Table.Th ta="right">Difference, points</Table.Th>
              <Table.Th>Compared by</Table.Th>
              <Table.Th>Reason</Table.Th>
              <Table.Th ta="right">Responses</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row) => (
              <Table.Tr key={row.request_id + row.shadow_id}>
                <Table.Td>
                  <Time at={row.time} />
                </Table.Td>
                <Table.Td>{taskLabel(row.task)}</Table.Td>
                <Table.Td>
                  <Anchor component={PageLink} to="/requests/$id" params={{ id: row.request_id }}>
                    {row.model}
                  </Anchor>
                </Table.Td>
                <Table.Td>{row.baseline_model}</Table.Td>
                <Table.Td ta="right" ff="monospace">
                  {formatPoints(row.difference)}
                </Table.Td>
                <Table.Td>{row.method}</Table.Td>
                <Table.Td>{row.reason}</Table.Td>
                <Table.Td ta="right">
                  {may("read_bodies") && (
                    <Button size="compact-xs" variant="default" onClick={() => setShown(row)}>
                      Show responses
                    </Button>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      <Modal
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        size="90rem"
        title="Responses side by side"
      >
        {shown && <Responses example={shown} />}
      </Modal>
    </Section>
  );
}

/** Both responses of a comparison with the words that differ, the verdict and the reason. */
function Responses({ example }: { example: Example }) {
  const { data, error, refetch } = useQuery(exampleQuery(example.request_id));
  if (error) {
    return <ErrorPanel what="Could not load the responses" error={error} onRetry={() => void refetch()} />;
  }
  if (!data) {
    return <PanelSkeleton height={240} />;
  }
  return (
    <Stack gap="sm">
      <Group gap="lg">
        <Text size="sm">
          Difference {formatPoints(example.difference)} points, compared by {example.method}
        </Text>
        <Anchor component={PageLink} to="/requests/$id" params={{ id: example.request_id }} size="sm">
          Open the request
        </Anchor>
      </Group>
      {data.reason && <Text size="sm">{data.reason}</Text>}
      <Sides
        names={[`${example.model} (routed)`, `${example.baseline_model} (baseline)`]}
        texts={[data.routed, data.baseline]}
      />
    </Stack>
  );
}

/** Two responses side by side. A note replaces a response that is not stored. */
export function Sides({ names, texts }: { names: [string, string]; texts: [string | null, string | null] }) {
  const [left, right] = texts;
  const marked = left !== null && right !== null ? wordDiff(left, right) : undefined;
  const plain = (text: string | null): DiffPart[] | undefined =>
    text === null ? undefined : [{ kind: "same", text }];
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
      <Side name={names[0]} parts={marked?.filter(({ kind }) => kind !== "added") ?? plain(left)} />
      <Side name={names[1]} parts={marked?.filter(({ kind }) => kind !== "removed") ?? plain(right)} />
    </SimpleGrid>
  );
}

function Side({ name, parts }: { name: string; parts: DiffPart[] | undefined }) {
  return (
    <section aria-label={name}>
      <Text size="xs" fw={600} mb={4}>
        {name}
      </Text>
      {parts ? (
        <div className={classes.text}>
          {parts.map((part, i) =>
            part.kind === "same" ? (
              <span key={i}>{part.text}</span>
            ) : (
              <mark key={i} className={classes.differs}>
                {part.text}
              </mark>
            ),
          )}
        </div>
      ) : (
        <Text size="sm" c="dimmed">
          The text of this response is not stored.
        </Text>
      )}
    </section>
  );
}
