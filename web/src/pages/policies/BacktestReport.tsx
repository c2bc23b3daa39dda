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

/** The result of a backtest. */
export function BacktestReport({ report }: { report: Report }) {
  const [against, setAgainst] = useState<"live" | "logged">(report.versus_live ? "live" : "logged");
  const compared = against === "live" && report.versus_live ? report.versus_live : report.versus_logged;
  if (report.decided === 0) {
    return (
      <Stack gap="sm">
        <Text size="sm">
          {report.considered === 0
            ? "No matching requests in this time range."
            : `None of ${plural(report.considered, "request")} can be re-run.`}
        </Text>
        <Skipped report={report} />
      </Stack>
    );
  }
  return (
    <Stack gap="lg">
      <div>
        <Text size="sm">
          Re-ran {formatCount(report.decided)} of {plural(report.considered, "request")}
          {report.from && report.to && (
            <>
              , from <Time at={report.from} as="moment" /> to <Time at={report.to} as="moment" />
            </>
          )}
          .{report.limited && " Older requests were not included because the limit was reached."}
        </Text>
        {report.versus_live && (
          <SegmentedControl
            mt="xs"
            size="xs"
            aria-label="Compared with"
            value={against}
            onChange={(value) => setAgainst(value as "live" | "logged")}
            data={[
              { value: "live", label: "vs current policies" },
              { value: "logged", label: "vs original routing" },
            ]}
          />
        )}
      </div>
      <Tiles report={report} compared={compared} />
      <Alert color="gray" variant="outline" py={6} icon={<Icon name="alert" size={16} />}>
        Costs use the recorded token counts. Quality is predicted, because no responses are generated.
      </Alert>
      <Section title="Model changes">
        <Matrix routes={compared.routes} />
      </Section>
      <Policies policies={report.policies} />
      <LargestChanges compared={compared} />
      <Skipped report={report} />
    </Stack>
  );
}

function Tiles({ report, compared: c }: { report: Report; compared: Comparison }) {
  const rejected = c.rejected.reduce((sum, { requests }) => sum + requests, 0);
  const { cost, quality } = c;
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }} spacing="sm">
      <Figure label="Changed model" value={formatPercent(shareOf(c.changed, report.decided))}>
        {plural(c.changed, "request")}
        {c.moved > 0 && ` · ${formatCount(c.moved)} changed provider only`}
      </Figure>
      <Figure label="Cost" value={<Money amount={cost.after_usd} />}>
        Before <Money amount={cost.before_usd} /> · change <Money amount={cost.change_usd} />
        {cost.baseline_usd && (
          <>
            {" "}
            · baseline <Money amount={cost.baseline_usd} />
          </>
        )}{" "}
        · known for {formatPercent(100 * cost.coverage)} of requests
      </Figure>
      <Figure label="Predicted quality" value={quality.requests > 0 ? signed(quality.change) : "—"}>
        {quality.requests > 0
          ? `${quality.before.toFixed(3)} → ${quality.after.toFixed(3)} · 95 % interval ${signed(quality.low)} to ${signed(quality.high)} · ${plural(quality.requests, "request")}`
          : "No data to compare"}
      </Figure>
      <Figure label="Rejected" value={formatCount(rejected)}>
        {c.rejected.map((r) => `${r.policy ?? r.code}: ${formatCount(r.requests)}`).join(", ") ||
          "No newly rejected requests"}
        {c.accepted > 0 && ` · ${formatCount(c.accepted)} newly served`}
      </Figure>
    </SimpleGrid>
  );
}

function Policies({ policies }: { policies: Report["policies"] }) {
  if (policies.length === 0) {
    return null;
  }
  return (
    <Section title="Effect of each policy">
      <div className={classes.scroll} role="region" aria-label="Policy table" tabIndex={0}>
        <Table fz="sm" aria-label="Policies in the backtest">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Policy</Table.Th>
              {["Matched", "Changed routing", "Rejected", "Saved"].map((heading) => (
                <Table.Th key={heading} ta="right">
                  {heading}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {policies.map((p) => (
              <Table.Tr key={`${p.source}/${p.name}`}>
                <Table.Td>
                  {p.name}
                  {p.source === "instance" && " (global)"}
                </Table.Td>
                {[p.matched, p.decided, p.denied].map((n, i) => (
                  <Table.Td key={i} ta="right" ff="monospace">
                    {formatCount(n)}
                  </Table.Td>
                ))}
                <Table.Td ta="right">
                  <Money amount={p.priced > 0 ? p.saved_usd : null} why="No requests with a known cost." />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      <Text size="xs" c="dimmed" mt={4}>
        Saved: cost of the router’s choice minus cost with the policy, for the same tokens.
      </Text>
    </Section>
  );
}

function Skipped({ report }: { report: Report }) {
  if (report.skipped.length === 0) {
    return null;
  }
  return (
    <Section title="Skipped requests">
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
