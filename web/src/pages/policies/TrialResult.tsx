import {
  Alert,
  Anchor,
  Button,
  Group,
  Modal,
  Paper,
  SimpleGrid,
  Stack,
  Table,
  Text,
  Title,
} from "@mantine/core";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { Icon } from "../../components/Icon";
import { PageLink } from "../../components/PageLink";
import { formatMoney } from "../../lib/money";
import { formatQuality, formatCount, formatPercent, plural } from "../../lib/numbers";
import { usePhone } from "../../lib/usePhone";
import { Trace } from "../requests/detail/Trace";
import { choiceOf, differences } from "./differences";
import { shareOf } from "./matrix";

type Explanation = Schema["Explanation"];

/** The routing of one request with the current policies and with the draft, if any, and the differences. */
export function TrialResult({ trial, changed }: { trial: Schema["TrialView"]; changed: boolean }) {
  const [traces, setTraces] = useState(false);
  const rows = differences(trial.live, trial.draft);
  return (
    <Stack gap="sm">
      <SimpleGrid cols={changed ? 2 : 1} spacing="xs">
        <Side title={changed ? "Current policies" : "Current policies choose"} explanation={trial.live} />
        {changed && <Side title="Draft" explanation={trial.draft} />}
      </SimpleGrid>
      {changed ? (
        <Differences rows={rows} />
      ) : (
        <Text size="xs" c="dimmed">
          No draft. Edit the policies to compare.
        </Text>
      )}
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={() => setTraces(true)}>
          {changed ? "Show both traces" : "Show trace"}
        </Button>
        {trial.request_id && (
          <Anchor component={PageLink} to="/requests/$id" params={{ id: trial.request_id }} size="xs">
            Open request
          </Anchor>
        )}
      </Group>
      <Traces trial={trial} changed={changed} opened={traces} onClose={() => setTraces(false)} />
    </Stack>
  );
}

function Side({ title, explanation }: { title: string; explanation: Explanation }) {
  const chosen = choiceOf(explanation);
  return (
    <Paper withBorder p="xs" role="group" aria-label={title}>
      <Text size="xs" c="dimmed" fw={600}>
        {title}
      </Text>
      {explanation.refusal ? (
        <>
          <Group gap={4} wrap="nowrap">
            <Icon name="ban" size={14} />
            <Text fw={600} size="sm">
              Rejected
            </Text>
          </Group>
          <Text size="xs" style={{ overflowWrap: "anywhere" }}>
            {explanation.refusal.message}
          </Text>
        </>
      ) : (
        <>
          <Text fw={600} size="sm" style={{ overflowWrap: "anywhere" }}>
            {chosen?.target ?? "No target"}
          </Text>
          {chosen && (
            <Text size="xs" c="dimmed">
              Expected cost {formatMoney(chosen.expected_cost_usd)} · predicted quality{" "}
              {formatQuality(chosen.quality)}
            </Text>
          )}
        </>
      )}
    </Paper>
  );
}

function Differences({ rows }: { rows: ReturnType<typeof differences> }) {
  if (rows.length === 0) {
    return <Text size="sm">No differences for this request.</Text>;
  }
  return (
    <Table fz="xs" verticalSpacing={3} horizontalSpacing={6} aria-label="Differences">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Field</Table.Th>
          <Table.Th>Current</Table.Th>
          <Table.Th>Draft</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(({ field, live, draft }) => (
          <Table.Tr key={field}>
            <Table.Th scope="row" fw={500}>
              {field}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{live}</Table.Td>
            <Table.Td style={{ overflowWrap: "anywhere" }} fw={600}>
              {draft}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface TracesProps {
  trial: Schema["TrialView"];
  changed: boolean;
  opened: boolean;
  onClose: () => void;
}

function Traces({ trial: { live, draft }, changed, opened, onClose }: TracesProps) {
  const phone = usePhone();
  const sides: [string, Explanation, Explanation | undefined][] = changed
    ? [
        ["Current policies", live, draft],
        ["Draft", draft, live],
      ]
    : [["Current policies", live, undefined]];
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      fullScreen={phone}
      size={changed ? "min(1500px, 96vw)" : "xl"}
      title={changed ? "Routing traces: current policies and draft" : "Routing trace"}
    >
      <SimpleGrid cols={{ base: 1, md: sides.length }} spacing="lg">
        {sides.map(([title, side, other]) => (
          <section key={title} aria-label={title}>
            <Title order={2} size="h3" mb="xs">
              {title}
            </Title>
            {side.refusal && <Refusal refusal={side.refusal} />}
            {side.decision && <Trace trace={side.decision} against={other?.decision} name={title} />}
          </section>
        ))}
      </SimpleGrid>
    </Modal>
  );
}

function Refusal({ refusal }: { refusal: Schema["Failure"] }) {
  return (
    <Alert
      color="red"
      variant="outline"
      mb="sm"
      icon={<Icon name="ban" size={18} />}
      title="This request would be rejected"
    >
      <Text size="sm">{refusal.message}</Text>
      <Text size="xs" c="dimmed" mt={4}>
        {refusal.code} · {refusal.origin}
      </Text>
    </Alert>
  );
}

/** A short comparison of the newest requests. The backtest has details. */
export function RecentResult({ report, changed }: { report: Schema["BacktestReport"]; changed: boolean }) {
  const compared = report.versus_live ?? report.versus_logged;
  const rejected = compared.rejected.reduce((sum, { requests }) => sum + requests, 0);
  if (report.decided === 0) {
    return <Text size="sm">None of {plural(report.considered, "request")} can be re-run.</Text>;
  }
  return (
    <Stack gap={4}>
      <Text size="sm">
        Re-ran {plural(report.decided, "request")}
        {changed ? " with the draft" : ""}:{" "}
        <strong>
          {formatCount(compared.changed)} ({formatPercent(shareOf(compared.changed, report.decided))})
        </strong>{" "}
        changed model{rejected > 0 && `, ${formatCount(rejected)} rejected`}. Cost for the same tokens:{" "}
        {formatMoney(compared.cost.before_usd)} before, {formatMoney(compared.cost.after_usd)} after.
      </Text>
      <Text size="xs" c="dimmed">
        <Anchor component={PageLink} to="/routing/policies" search={{ tab: "backtest" }} inherit>
          Run a backtest
        </Anchor>{" "}
        for details and more requests.
      </Text>
    </Stack>
  );
}
