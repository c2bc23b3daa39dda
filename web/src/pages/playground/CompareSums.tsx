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

/** What the columns of a comparison cost in all. */
export function CompareSums({ columns, turns }: Props) {
  const why = "Unknown, because it is unknown for one of the answers.";
  return (
    <Section title="In all">
      <div className={classes.scroll} role="region" aria-label="Sums by column" tabIndex={0}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Model</Table.Th>
              <Table.Th ta="right">Answers</Table.Th>
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
              const sums = sumRuns(runs);
              const none = sums.runs === 0 ? "Nothing answered yet." : why;
              return (
                <Table.Tr key={column.id}>
                  <Table.Th scope="row">{column.model}</Table.Th>
                  <Table.Td ta="right" ff="monospace">
                    {formatCount(sums.runs - sums.failed)}
                    {sums.failed > 0 && ` (${sums.failed} failed)`}
                  </Table.Td>
                  <Table.Td ta="right" ff="monospace">
                    {formatCount(sums.tokensIn)} / {formatCount(sums.tokensOut)}
                  </Table.Td>
                  <Table.Td ta="right">
                    <Money amount={sums.cost} why={none} paid />
                  </Table.Td>
                  <Table.Td ta="right">
                    <Money amount={sums.baselineCost} why={none} paid />
                  </Table.Td>
                  <Table.Td ta="right">
                    <Money amount={sums.saved} why={none} />
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
