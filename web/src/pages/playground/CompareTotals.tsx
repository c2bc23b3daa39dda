import { Table } from "@mantine/core";

import { Money } from "../../components/Money";
import { Section } from "../../components/Section";
import { formatCount } from "../../lib/numbers";
import type { Turn } from "./draft";
import classes from "./playground.module.css";
import { type Run, sumRuns } from "./run";

interface Props {
  columns: { id: string; model: string }[];
  turns: Turn[];
}

/** The totals of each column of a comparison. */
export function CompareTotals({ columns, turns }: Props) {
  const why = "Unknown for at least one response.";
  return (
    <Section title="Total">
      <div className={classes.scroll} role="region" aria-label="Totals by column" tabIndex={0}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Model</Table.Th>
              <Table.Th ta="right">Responses</Table.Th>
              <Table.Th ta="right">Tokens in / out</Table.Th>
              <Table.Th ta="right">Cost</Table.Th>
              <Table.Th ta="right">Baseline</Table.Th>
              <Table.Th ta="right">Saved</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {columns.map((column) => {
              const runs = turns
                .map((turn) => turn.runs[column.id])
                .filter((run): run is Run => run !== undefined);
              const totals = sumRuns(runs);
              const reason = totals.runs === 0 ? "No responses yet." : why;
              return (
                <Table.Tr key={column.id}>
                  <Table.Th scope="row">{column.model}</Table.Th>
                  <Table.Td ta="right" ff="monospace">
                    {formatCount(totals.runs - totals.failed)}
                    {totals.failed > 0 && ` (${totals.failed} failed)`}
                  </Table.Td>
                  <Table.Td ta="right" ff="monospace">
                    {formatCount(totals.tokensIn)} / {formatCount(totals.tokensOut)}
                  </Table.Td>
                  <Table.Td ta="right">
                    <Money amount={totals.cost} why={reason} paid />
                  </Table.Td>
                  <Table.Td ta="right">
                    <Money amount={totals.baselineCost} why={reason} paid />
                  </Table.Td>
                  <Table.Td ta="right">
                    <Money amount={totals.saved} why={reason} />
                  </Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      </div>
    </Section>
  );
}
