import { Alert, List, SegmentedControl, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { Figure } from "../../components/Figure";
import { Icon } from "../../components/Icon";
import { Money } from "../../components/Money";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { formatCount, formatPercent, plural } from "../../lib/numbers";
import { LargestChanges } from "./LargestChanges";
import { Matrix } from "./Matrix";
import { shareOf, signed } from "./matrix";
import classes from "./policies.module.css";

type Report = Schema["BacktestReport"];
type Comparison = Schema["BacktestComparison"];

/** What a backtest found. */
export function BacktestReport({ report }: { report: Report }) {
  const [against, setAgainst] = useState<"live" | "logged">(report.versus_live ? "live" : "logged");
  const compared = against === "live" && report.versus_live ? report.versus_live : report.versus_logged;
  if (report.decided === 0) {
    return (
      <Stack gap="sm">
        <Text size="sm">
          {report.considered === 0
            ? "No request in this range matches."
            : `None of ${plural(report.considered, "request")} can be decided again.`}
        </Text>
        <Skipped report={report} />
      </Stack>
    );
  }
  return (
    <Stack gap="lg">
      <div>
        <Text size="sm">
          {plural(report.decided, "request")} of {formatCount(report.considered)} decided again
          {report.from && report.to && (
            <>
              , from <Time at={report.from} as="moment" /> to <Time at={report.to} as="moment" />
            </>
          )}
          .{report.limited && " Older ones were left out by the limit."}
        </Text>
        {report.versus_live && (
          <SegmentedControl
            mt="xs"
            size="xs"
            aria-label="Compared with"
            value={against}
            onChange={(value) => setAgainst(value as "live" | "logged")}
            data={[
              { value: "live", label: "Against what is in force" },
              { value: "logged", label: "Against what was chosen" },
            ]}
          />
        )}
      </div>
      <Tiles report={report} compared={compared} />
      <Alert color="gray" variant="outline" py={6} icon={<Icon name="alert" size={16} />}>
        Costs are for the tokens really used; quality is what the predictor expects, not what anybody said of
        an answer.
      </Alert>
      <Section title="From model to model">
        <Matrix routes={compared.routes} />
      </Section>
      <Policies policies={report.policies} />
      <LargestChanges compared={compared} />
      <Skipped report={report} />
    </Stack>
  );
}

function Tiles({ report, compared: c }: { report: Report; compared: Comparison }) {
  const refused = c.refused.reduce((sum, { requests }) => sum + requests, 0);
  const { cost, quality } = c;
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }} spacing="sm">
      <Figure label="Another model" value={formatPercent(shareOf(c.changed, report.decided))}>
        {plural(c.changed, "request")}
        {c.moved > 0 && `, and ${formatCount(c.moved)} to another provider of the same model`}
      </Figure>
      <Figure label="Cost" value={<Money amount={cost.after_usd} />}>
        <Money amount={cost.before_usd} /> before, change <Money amount={cost.change_usd} />
        {cost.baseline_usd && (
          <>
            , baseline <Money amount={cost.baseline_usd} />
          </>
        )}
        . Known for {formatPercent(100 * cost.coverage)}.
      </Figure>
      <Figure label="Predicted quality" value={quality.requests > 0 ? signed(quality.change) : "—"}>
        {quality.requests > 0
          ? `${quality.before.toFixed(3)} to ${quality.after.toFixed(3)}; 95 % between ${signed(quality.low)} and ${signed(quality.high)}, of ${plural(quality.requests, "request")}`
          : "There is nothing to compare."}
      </Figure>
      <Figure label="Refused" value={formatCount(refused)}>
        {c.refused.map((r) => `${r.policy ?? r.code}: ${formatCount(r.requests)}`).join(", ") ||
          "No request is refused that was served."}
        {c.accepted > 0 && ` ${formatCount(c.accepted)} that were refused are served.`}
      </Figure>
    </SimpleGrid>
  );
}

function Policies({ policies }: { policies: Report["policies"] }) {
  if (policies.length === 0) {
    return null;
  }
  return (
    <Section title="What each policy does">
      <div className={classes.scroll} role="region" aria-label="Table of policies" tabIndex={0}>
        <Table fz="sm" aria-label="Policies of the backtest">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Policy</Table.Th>
              {["Matched", "Decided", "Refused", "Saved"].map((word) => (
                <Table.Th key={word} ta="right">
                  {word}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {policies.map((p) => (
              <Table.Tr key={`${p.source}/${p.name}`}>
                <Table.Td>
                  {p.name}
                  {p.source === "instance" && " (of the instance)"}
                </Table.Td>
                {[p.matched, p.decided, p.denied].map((n, i) => (
                  <Table.Td key={i} ta="right" ff="monospace">
                    {formatCount(n)}
                  </Table.Td>
                ))}
                <Table.Td ta="right">
                  <Money
                    amount={p.priced > 0 ? p.saved_usd : null}
                    why="Nothing that it decided has a known cost."
                  />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      <Text size="xs" c="dimmed" mt={4}>
        Saved: the router’s own choice less the policy’s, for the same tokens.
      </Text>
    </Section>
  );
}

function Skipped({ report }: { report: Report }) {
  if (report.skipped.length === 0) {
    return null;
  }
  return (
    <Section title="What could not be decided again">
      <List size="sm">
        {report.skipped.map(({ reason, words, requests }) => (
          <List.Item key={reason}>
            {plural(requests, "request")}: {words}
          </List.Item>
        ))}
      </List>
    </Section>
  );
}
