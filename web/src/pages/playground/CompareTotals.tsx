import { Group, Select, Table, Text } from "@mantine/core";

import { Money } from "../../components/Money";
import { Section } from "../../components/Section";
import { formatMoney } from "../../lib/money";
import { formatCount, formatDuration } from "../../lib/numbers";
import { runsOf, type Turn } from "./draft";
import classes from "./playground.module.css";
import { type Run, sumRuns } from "./run";
import { costsOf, dollarText, formatRatio, ratioOf, type Spread, spreadOf, timesOf } from "./spread";

/** A column of the comparison. */
export interface TotalsColumn {
  id: string;
  /** The model, or the name of the logged response. */
  label: string;
}

interface Props {
  columns: TotalsColumn[];
  turns: Turn[];
  /** The column that the others are compared with. */
  baseline: string;
  onBaseline: (column: string) => void;
}

/** The totals of each column, with ratios to one baseline column. */
export function CompareTotals({ columns, turns, baseline, onBaseline }: Props) {
  return (
    <Section title="Total">
      {columns.length > 1 && (
        <Group mb="xs" align="flex-end" gap="sm">
          <Select
            size="xs"
            w={260}
            label="Baseline"
            allowDeselect={false}
            data={columns.map(({ id, label }, i) => ({ value: id, label: `${i + 1}. ${label}` }))}
            value={baseline}
            onChange={(id) => id && onBaseline(id)}
          />
          <Text size="xs" c="dimmed" flex="1 1 240px">
            Ratios compare the mean per prompt with the mean of the baseline column. ± is the standard
            deviation of the responses.
          </Text>
        </Group>
      )}
      <div className={classes.scroll} role="region" aria-label="Totals by column" tabIndex={0}>
        <Table fz="xs" horizontalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Model</Table.Th>
              {[
                "Responses",
                "Tokens in / out",
                "Total cost",
                "Cost per response",
                "vs baseline",
                "Time per response",
                "vs baseline",
              ].map((heading, i) => (
                <Table.Th key={i} ta="right">
                  {heading}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {columns.map((column) => (
              <Row
                key={column.id}
                column={column}
                turns={turns}
                baseline={columns.length > 1 ? baseline : undefined}
              />
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Section>
  );
}

function Row({
  column: { id, label },
  turns,
  baseline,
}: {
  column: TotalsColumn;
  turns: Turn[];
  baseline: string | undefined;
}) {
  const runs = turns.flatMap((turn) => runsOf(turn, id));
  const totals = sumRuns(runs);
  const reason = totals.runs === 0 ? "No responses yet." : "Unknown for at least one response.";
  const ratio = (figure: (runs: Run[]) => number[]) =>
    baseline === undefined
      ? "—"
      : baseline === id
        ? "baseline"
        : formatRatio(ratioOf(turns, id, baseline, figure));
  return (
    <Table.Tr>
      <Table.Th scope="row">{label}</Table.Th>
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
      <Table.Td ta="right" ff="monospace">
        {spreadText(spreadOf(costsOf(runs)), (cost) => formatMoney(dollarText(cost)))}
      </Table.Td>
      <Table.Td ta="right" ff="monospace">
        {ratio(costsOf)}
      </Table.Td>
      <Table.Td ta="right" ff="monospace">
        {spreadText(spreadOf(timesOf(runs)), formatDuration)}
      </Table.Td>
      <Table.Td ta="right" ff="monospace">
        {ratio(timesOf)}
      </Table.Td>
    </Table.Tr>
  );
}

/** Formats a mean with its standard deviation: 412 ms ± 31 ms. */
function spreadText(spread: Spread | undefined, format: (value: number) => string): string {
  if (!spread) {
    return "—";
  }
  const mean = format(spread.mean);
  return spread.deviation === null ? mean : `${mean} ± ${format(spread.deviation)}`;
}
