import { Progress, Stack, Text } from "@mantine/core";

import type { Schema } from "../../api/client";
import { Money } from "../../components/Money";
import { Time } from "../../components/Time";
import { formatPercent } from "../../lib/numbers";

/** The budget of the workspace and how much of it is used. */
export function Budget({ workspace }: { workspace: Schema["WorkspaceView"] }) {
  const { budget, budget_use: use } = workspace;
  if (!budget) {
    return (
      <Text size="sm" c="dimmed">
        The workspace has no budget of its own; keys may have theirs. Whoever runs the gateway can set one.
      </Text>
    );
  }
  const percent = use?.percent ?? 0;
  const warn = budget.warn_percent || 80;
  return (
    <Stack gap={6} maw={420}>
      <Text size="sm">
        <Money amount={use?.spent_usd} why="Not spent on yet." /> of <Money amount={budget.amount_usd} />{" "}
        {budget.period === "total" ? "in all" : `a ${budget.period}`}
        {use?.percent != null && ` (${formatPercent(use.percent)})`}
      </Text>
      <Progress
        value={percent}
        color={percent >= warn ? "red" : "cyan"}
        aria-label="Share of the budget that is used"
      />
      <Text size="sm" c="dimmed">
        {use?.resets_at && (
          <>
            Starts again <Time at={use.resets_at} as="moment" />.{" "}
          </>
        )}
        {budget.warn_only
          ? "Beyond it requests are still served."
          : "Beyond it requests are refused; this page stays usable."}{" "}
        Only whoever runs the gateway can raise or remove it.
      </Text>
    </Stack>
  );
}
