import { Progress, Stack, Text } from "@mantine/core";

import type { Schema } from "../../api/client";
import { Money } from "../../components/Money";
import { Time } from "../../components/Time";
import { formatPercent } from "../../lib/numbers";

/** The workspace's budget and its use. */
export function Budget({ workspace }: { workspace: Schema["WorkspaceView"] }) {
  const { budget, budget_use: use } = workspace;
  if (!budget) {
    return (
      <Text size="sm" c="dimmed">
        This workspace has no budget. Keys can have their own budgets. Set one on the Budgets page.
      </Text>
    );
  }
  const percent = use?.percent ?? 0;
  const warn = budget.warn_percent || 80;
  return (
    <Stack gap={6} maw={420}>
      <Text size="sm">
        <Money amount={use?.spent_usd} why="No spend yet." /> of <Money amount={budget.amount_usd} />{" "}
        {budget.period === "total" ? "total" : `per ${budget.period}`}
        {use?.percent != null && ` (${formatPercent(use.percent)})`}
      </Text>
      <Progress value={percent} color={percent >= warn ? "red" : "cyan"} aria-label="Budget used" />
      <Text size="sm" c="dimmed">
        {use?.resets_at && (
          <>
            Resets <Time at={use.resets_at} as="moment" />.{" "}
          </>
        )}
        {budget.warn_only
          ? "Requests over the budget are still served."
          : "Requests over the budget are rejected."}{" "}
        Only the gateway operator can change it.
      </Text>
    </Stack>
  );
}
