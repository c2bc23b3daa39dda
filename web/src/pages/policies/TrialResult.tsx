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

/** One request decided twice: both outcomes, and in what they differ. Without a draft, what would happen now. */
export function TrialResult({ trial, changed }: { trial: Schema["TrialView"]; changed: boolean }) {
  const [traces, setTraces] = useState(false);
  const rows = differences(trial.live, trial.draft);
  return (
    <Stack gap="sm">
      <SimpleGrid cols={changed ? 2 : 1} spacing="xs">
        <Side title={changed ? "In force" : "What is in force decides"} explanation={trial.live} />
        {changed && <Side title="Draft" explanation={trial.draft} />}
      </SimpleGrid>
      {changed ? (
        <Differing rows={rows} />
      ) : (
        <Text size="xs" c="dimmed">
          There is no draft to compare with: change the policies, and both are shown.
        </Text>
      )}
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={() => setTraces(true)}>
          {changed ? "Show both traces" : "Show the trace"}
        </Button>
        {trial.request_id && (
          <Anchor component={PageLink} to="/requests/$id" params={{ id: trial.request_id }} size="xs">
            Open the request
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
              refused
            </Text>
          </Group>
          <Text size="xs" style={{ overflowWrap: "anywhere" }}>
            {explanation.refusal.message}
          </Text>
        </>
      ) : (
        <>
          <Text fw={600} size="sm" style={{ overflowWrap: "anywhere" }}>
            {chosen?.target ?? "nobody"}
          </Text>
          {chosen && (
            <Text size="xs" c="dimmed">
              {formatMoney(chosen.expected_cost_usd)} expected · chance {formatQuality(chosen.quality)}
            </Text>
          )}
        </>
      )}
    </Paper>
  );
}

function Differing({ rows }: { rows: ReturnType<typeof differences> }) {
  if (rows.length === 0) {
    return <Text size="sm">The draft changes nothing for this request.</Text>;
  }
  return (
    <Table fz="xs" verticalSpacing={3} horizontalSpacing={6} aria-label="What differs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Differs</Table.Th>
          <Table.Th>In force</Table.Th>
          <Table.Th>Draft</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(({ what, live, draft }) => (
          <Table.Tr key={what}>
            <Table.Th scope="row" fw={500}>
              {what}
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
        ["In force", live, draft],
        ["Draft", draft, live],
      ]
    : [["In force", live, undefined]];
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      fullScreen={phone}
      size={changed ? "min(1500px, 96vw)" : "xl"}
      title={changed ? "How it is decided, in force and in the draft" : "How it is decided"}
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
      title="It would be refused"
    >
      <Text size="sm">{refusal.message}</Text>
      <Text size="xs" c="dimmed" mt={4}>
        {refusal.code} · {refusal.origin}
      </Text>
    </Alert>
  );
}

/** The newest requests, decided again: how many go elsewhere. The backtest tells more. */
export function RecentResult({ report, changed }: { report: Schema["BacktestReport"]; changed: boolean }) {
  const compared = report.versus_live ?? report.versus_logged;
  const refused = compared.refused.reduce((sum, { requests }) => sum + requests, 0);
  if (report.decided === 0) {
    return <Text size="sm">None of {plural(report.considered, "request")} can be decided again.</Text>;
  }
  return (
    <Stack gap={4}>
      <Text size="sm">
        Of {plural(report.decided, "request")} that can be decided again,{" "}
        <strong>
          {formatCount(compared.changed)} ({formatPercent(shareOf(compared.changed, report.decided))})
        </strong>{" "}
        go to another model{changed ? " under the draft" : " than they were sent to"}
        {refused > 0 && `, and ${formatCount(refused)} are refused`}. The same tokens cost{" "}
        {formatMoney(compared.cost.before_usd)} before and {formatMoney(compared.cost.after_usd)} after.
      </Text>
      <Text size="xs" c="dimmed">
        <Anchor component={PageLink} to="/routing/policies" search={{ tab: "backtest" }} inherit>
          The backtest
        </Anchor>{" "}
        says more, of more requests.
      </Text>
    </Stack>
  );
}
