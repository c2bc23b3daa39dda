import { Progress } from "@mantine/core";

import { formatPercent } from "../../lib/numbers";
import type { Budget } from "./query";
import { barColor } from "./text";

/** The spent and the reserved share of a budget as a bar. */
export function UseBar({ budget }: { budget: Budget }) {
  const amount = Number(budget.amount_usd);
  const spent = Math.min(budget.percent ?? 0, 100);
  const held = amount > 0 ? Math.min((100 * Number(budget.held_usd)) / amount, 100 - spent) : 0;
  const label = `${budget.name}: ${formatPercent(budget.percent)} of the budget spent`;
  return (
    <Progress.Root size="md" miw={90} aria-label={label}>
      <Progress.Section value={spent} color={barColor(budget)} aria-label={label} />
      {held > 0 && (
        <Progress.Section
          value={held}
          color="gray"
          striped
          aria-label={`${formatPercent(held)} reserved for requests in progress`}
        />
      )}
    </Progress.Root>
  );
}
