import { Anchor, SegmentedControl, Table, Text } from "@mantine/core";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { Money } from "../../components/Money";
import { PageLink } from "../../components/PageLink";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { formatQuality } from "../../lib/numbers";
import classes from "./policies.module.css";

type Change = Schema["BacktestChange"];

/** The requests with the largest changes, with links. */
export function LargestChanges({ compared }: { compared: Schema["BacktestComparison"] }) {
  const [by, setBy] = useState<"cost" | "quality">("cost");
  const changes = by === "cost" ? compared.largest_by_cost : compared.largest_by_quality;
  return (
    <Section
      title="Largest changes"
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Sort by"
          value={by}
          onChange={(value) => setBy(value as "cost" | "quality")}
          data={[
            { value: "cost", label: "By cost" },
            { value: "quality", label: "By quality" },
          ]}
        />
      }
    >
      {changes.length === 0 ? (
        <Text size="sm" c="dimmed">
          No changes.
        </Text>
      ) : (
        <div className={classes.scroll} role="region" aria-label="Change table" tabIndex={0}>
          <Table fz="sm" aria-label="Largest changes">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Request</Table.Th>
                <Table.Th>From</Table.Th>
                <Table.Th>To</Table.Th>
                <Table.Th ta="right">Cost</Table.Th>
                <Table.Th ta="right">Predicted quality</Table.Th>
                <Table.Th>Policy</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {changes.map((change) => (
                <Row key={change.request_id} change={change} />
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </Section>
  );
}

function Row({ change: c }: { change: Change }) {
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <Anchor component={PageLink} to="/requests/$id" params={{ id: c.request_id }} size="sm">
          <Time at={c.time} />
        </Anchor>
      </Table.Td>
      <Table.Td>{c.from || "rejected"}</Table.Td>
      <Table.Td>{c.to || "rejected"}</Table.Td>
      <Table.Td ta="right" style={{ whiteSpace: "nowrap" }}>
        <Money amount={c.cost_before_usd} /> → <Money amount={c.cost_after_usd} />
      </Table.Td>
      <Table.Td ta="right" ff="monospace" style={{ whiteSpace: "nowrap" }}>
        {formatQuality(c.success_probability_before)} → {formatQuality(c.success_probability_after)}
      </Table.Td>
      <Table.Td>{c.policy ?? "–"}</Table.Td>
    </Table.Tr>
  );
}
