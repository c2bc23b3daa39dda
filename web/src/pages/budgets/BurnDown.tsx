import { Table } from "@mantine/core";
import { lazy, useId } from "react";

import { ChartPanel } from "../../components/charts/ChartPanel";
import classes from "../../components/charts/charts.module.css";
import { LineSwatch, Swatch } from "../../components/charts/patterns";
import { formatMoney } from "../../lib/money";
import { useZone } from "../../lib/preferences";
import { formatMoment } from "../../lib/time";
import type { BudgetDetail } from "./query";

const BurnDownChart = lazy(() => import("./BurnDownChart"));

/** The spending of the period, an even pace, the forecast and the budget. */
export function BurnDown({ budget }: { budget: BudgetDetail }) {
  const known = budget.expected.length > 0;
  return (
    <ChartPanel
      title="Burn-down"
      legend={<Legend budget={budget} />}
      chart={<BurnDownChart budget={budget} />}
      table={<Rows budget={budget} />}
      note={
        known
          ? "The range contains the actual spending in 80 % of cases if spending varies as it did recently. The curve uses UTC hours."
          : "Not enough data for a forecast yet. The curve uses UTC hours."
      }
    />
  );
}

function Legend({ budget }: { budget: BudgetDetail }) {
  const id = useId();
  const known = budget.expected.length > 0;
  return (
    <div className={classes.legend}>
      <span>
        <LineSwatch colour="var(--fl-spend)" /> Spent
      </span>
      {budget.resets_at && (
        <span>
          <LineSwatch colour="var(--fl-baseline)" dash="2 4" /> Even pace
        </span>
      )}
      {known && (
        <>
          <span>
            <LineSwatch colour="var(--fl-policy)" dash="6 3" /> Forecast
          </span>
          <span>
            <Swatch id={`${id}-range`} fill="hatched" colour="var(--fl-policy)" /> 80 % range
          </span>
        </>
      )}
      <span>
        <LineSwatch colour="var(--fl-extra)" /> Budget {formatMoney(budget.amount_usd)}
      </span>
    </div>
  );
}

function Rows({ budget }: { budget: BudgetDetail }) {
  const [zone] = useZone();
  return (
    <Table verticalSpacing={4} fz="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Time</Table.Th>
          <Table.Th scope="col" ta="right">
            Spent
          </Table.Th>
          <Table.Th scope="col" ta="right">
            Forecast
          </Table.Th>
          <Table.Th scope="col" ta="right">
            80 % range
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {budget.curve.map((point) => (
          <Table.Tr key={point.at}>
            <Table.Th scope="row" fw={400}>
              {formatMoment(point.at, zone)}
            </Table.Th>
            <Table.Td className={classes.number}>{formatMoney(point.spent_usd)}</Table.Td>
            <Table.Td />
            <Table.Td />
          </Table.Tr>
        ))}
        {budget.expected.slice(1).map((point) => (
          <Table.Tr key={point.at}>
            <Table.Th scope="row" fw={400}>
              {formatMoment(point.at, zone)}
            </Table.Th>
            <Table.Td />
            <Table.Td className={classes.number}>{formatMoney(point.expected_usd)}</Table.Td>
            <Table.Td className={classes.number}>
              {formatMoney(point.low_usd)} to {formatMoney(point.high_usd)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
