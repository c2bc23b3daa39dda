import {
  Anchor,
  Box,
  Button,
  Group,
  SimpleGrid,
  Stack,
  Table,
  Text,
  TextInput,
  VisuallyHidden,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { requestBodyQuery, requestQuery } from "../../api/queries";
import { OutcomeBadge } from "../../components/badges";
import { Diff } from "../../components/Diff";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { RowsSkeleton } from "../../components/Loading";
import { Money } from "../../components/Money";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { Redacted } from "../../components/Redacted";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { Tokens } from "../../components/Tokens";
import { formatLatency } from "../../lib/numbers";
import { useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { usePhone } from "../../lib/usePhone";
import { changeText, comparedIds, lastTurn, shadowRecord, shadowWindow } from "./compare";

type Detail = Schema["RequestDetail"];

/** Compares two requests, or a request with the response of its shadow call. */
export function ComparePage() {
  const [search, setSearch] = useSearchParams();
  const ids = comparedIds(search);
  const only = search["a"] ?? search["b"];
  return (
    <Box>
      <Anchor component={PageLink} to="/requests" size="sm">
        <Icon name="chevronLeft" size={12} /> Requests
      </Anchor>
      <PageHeader title="Compare requests" compact />
      {ids ? (
        <Pair a={ids[0]} b={ids[1]} key={ids.join()} />
      ) : (
        <Stack gap="lg">
          <OtherRequest onChoose={(id) => setSearch(only ? { a: only, b: id } : { a: id })} />
          {only && <ShadowPair id={only} />}
        </Stack>
      )}
    </Box>
  );
}

function OtherRequest({ onChoose }: { onChoose: (id: string) => void }) {
  const [id, setId] = useState("");
  const valid = /^req_[0-9A-Z]{26}$/.test(id.trim());
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (valid) {
          onChoose(id.trim());
        }
      }}
    >
      <Group align="flex-end" gap="xs">
        <TextInput
          label="Request ID"
          description="Or select two requests in the list and choose Compare."
          placeholder="req_…"
          w={340}
          maw="100%"
          value={id}
          onChange={(event) => setId(event.currentTarget.value)}
        />
        <Button type="submit" disabled={!valid}>
          Compare
        </Button>
      </Group>
    </form>
  );
}

/** Loads a request with its last prompt and its response, which are undefined if they are not stored. */
function useSide(id: string) {
  const { may } = useSession();
  const request = useQuery(requestQuery(id));
  const body = useQuery({ ...requestBodyQuery(id), enabled: may("read_bodies") });
  const turn = useMemo(() => (body.data?.state === "stored" ? lastTurn(body.data) : undefined), [body.data]);
  return { request, turn, pending: request.isPending || (body.isPending && may("read_bodies")) };
}

function Pair({ a, b }: { a: string; b: string }) {
  const [first, second] = [useSide(a), useSide(b)];
  const failed = first.request.error ?? second.request.error;
  if (failed) {
    return <ErrorPanel what="Could not load the requests" error={failed} />;
  }
  if (first.pending || second.pending || !first.request.data || !second.request.data) {
    return <RowsSkeleton rows={6} height={48} />;
  }
  return (
    <Stack gap="lg">
      <Facts a={first.request.data} b={second.request.data} />
      {first.turn && second.turn ? (
        <>
          <Section title="Prompts">
            {first.turn.prompt === second.turn.prompt ? (
              <SamePrompt text={first.turn.prompt} />
            ) : (
              <Diff before={first.turn.prompt} after={second.turn.prompt} labels={["First", "Second"]} />
            )}
          </Section>
          <Section title="Responses">
            <Diff
              before={first.turn.response}
              after={second.turn.response}
              labels={[first.request.data.model ?? "First", second.request.data.model ?? "Second"]}
            />
          </Section>
        </>
      ) : (
        <EmptyState icon="archive" title="No messages">
          The messages of at least one request are not available, so only the figures are compared.
        </EmptyState>
      )}
    </Stack>
  );
}

function SamePrompt({ text }: { text: string }) {
  return (
    <>
      <Text size="xs" c="dimmed" mb={4}>
        The last prompt is the same in both requests.
      </Text>
      <Text size="sm" component="div" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        <Redacted text={text} invisible />
      </Text>
    </>
  );
}

interface Fact {
  name: string;
  render: (r: Detail) => ReactNode;
  /** The value for the difference in percent. */
  value?: (r: Detail) => number | null;
}

const facts: Fact[] = [
  { name: "Model", render: (r) => <strong>{r.model ?? "not served"}</strong> },
  { name: "Provider", render: (r) => r.provider ?? "—" },
  {
    name: "Cost",
    render: (r) => <Money amount={r.cost_usd} paid />,
    value: (r) => (r.cost_usd === null ? null : Number(r.cost_usd)),
  },
  { name: "Latency", render: (r) => formatLatency(r.latency_ms), value: (r) => r.latency_ms },
  {
    name: "First token",
    render: (r) => formatLatency(r.stream ? r.ttft_ms : null),
    value: (r) => (r.stream ? r.ttft_ms : null),
  },
  { name: "Tokens in / out", render: (r) => <Tokens tokens={r.tokens} single /> },
  { name: "Outcome", render: (r) => <OutcomeBadge outcome={r.outcome} /> },
  { name: "Requested", render: (r) => r.requested_model },
  { name: "Time", render: (r) => <Time at={r.time} as="moment" /> },
  { name: "Key", render: (r) => r.key_name ?? "—" },
];

function Facts({ a, b }: { a: Detail; b: Detail }) {
  const phone = usePhone();
  const open = (r: Detail, word: string) => (
    <Anchor component={PageLink} to="/requests/$id" params={{ id: r.id }} fz="sm" title={r.id}>
      {word} request
    </Anchor>
  );
  return (
    <Table fz="sm" verticalSpacing={3} aria-label="Compared requests" layout="fixed" maw={900}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th w={phone ? 96 : 130}>
            <VisuallyHidden>Figure</VisuallyHidden>
          </Table.Th>
          <Table.Th>{open(a, "First")}</Table.Th>
          <Table.Th>{open(b, "Second")}</Table.Th>
          {!phone && <Table.Th w={110}>Difference</Table.Th>}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {facts.map(({ name, render, value }) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" fw={500} c="dimmed">
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{render(a)}</Table.Td>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{render(b)}</Table.Td>
            {!phone && (
              <Table.Td ff="monospace">{value ? (changeText(value(a), value(b)) ?? "—") : ""}</Table.Td>
            )}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** The response of a request beside that of its shadow call, if the request was compared with a baseline model. */
function ShadowPair({ id }: { id: string }) {
  const { request, turn } = useSide(id);
  const at = request.data?.time;
  const records = useQuery({
    queryKey: ["comparison-records", id],
    queryFn: () =>
      must(
        api.GET("/workspace/comparison/records", {
          params: { query: { ...shadowWindow(at ?? ""), limit: 200 } },
        }),
      ),
    enabled: at !== undefined,
  });
  if (request.error) {
    return <ErrorPanel what="Could not load the request" error={request.error} />;
  }
  const shadow = shadowRecord(records.data?.records ?? [], id);
  if (!shadow || !turn) {
    return null;
  }
  return (
    <Section title="Shadow response">
      <SimpleGrid cols={{ base: 1, sm: 2 }} mb="sm">
        <Text size="sm">
          Served by <strong>{shadow.record.holdout ? shadow.record.baseline : shadow.record.model}</strong>
        </Text>
        <Text size="sm">
          Shadow call to{" "}
          <strong>{shadow.record.holdout ? shadow.record.model : shadow.record.baseline}</strong>
        </Text>
      </SimpleGrid>
      {shadow.record.reason && (
        <Text size="sm" mb="sm" style={{ overflowWrap: "anywhere" }}>
          Verdict: {shadow.record.reason}
        </Text>
      )}
      <Diff before={turn.response} after={shadow.text} labels={["Response", "Shadow response"]} />
    </Section>
  );
}
