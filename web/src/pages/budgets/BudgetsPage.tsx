import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { type Column, DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { RowsSkeleton } from "../../components/Loading";
import { Money } from "../../components/Money";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { Section } from "../../components/Section";
import { formatMoney } from "../../lib/money";
import { formatPercent } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { EditBudget } from "./EditBudget";
import { type Budget, budgetsQuery } from "./query";
import { amountText, outlookText, ownerText } from "./text";
import { UseBar } from "./UseBar";
import { WorkspaceBudget } from "./WorkspaceBudget";

/** The budgets of the workspace, its keys, sessions and end users. */
export function BudgetsPage() {
  const { data, error, refetch } = useQuery(budgetsQuery);
  const { may } = useSession();
  const own = data?.budgets.filter((b) => b.kind === "workspace" || b.kind === "key") ?? [];
  const shared = data?.budgets.filter((b) => b.kind === "session" || b.kind === "user") ?? [];
  return (
    <>
      <PageHeader
        title="Budgets"
        description="How much of each budget is spent, and when it will be used up at the current rate."
        actions={<WorkspaceBudget />}
      />
      {error && <ErrorPanel what="Could not load budgets" error={error} onRetry={() => void refetch()} />}
      {!data && !error && <RowsSkeleton rows={4} />}
      {data && data.budgets.length === 0 && (
        <EmptyState
          icon="wallet"
          title="No budgets yet"
          actions={
            may("manage_own_keys") && (
              <Button size="xs" variant="default" component={PageLink} to="/settings/keys">
                Set a budget on a key
              </Button>
            )
          }
        >
          Budgets of the workspace, API keys, sessions and end users appear here.
        </EmptyState>
      )}
      {own.length > 0 && (
        <Section title="Workspace and API keys">
          <List label="Budgets of the workspace and its keys" budgets={own} />
        </Section>
      )}
      {shared.length > 0 && (
        <Section title="Sessions and end users">
          <List label="Budgets of sessions and end users" budgets={shared} />
          <Text size="xs" c="dimmed" mt={6}>
            Sessions and end users with requests in the last 30 days, highest share of the budget spent first.
            {data?.more && " Only the 200 most recent sessions are listed."}
          </Text>
        </Section>
      )}
    </>
  );
}

function List({ label, budgets }: { label: string; budgets: Budget[] }) {
  const [editing, setEditing] = useState<Budget>();
  const change: Column<Budget> = {
    id: "change",
    label: "Actions",
    render: (b) =>
      b.can_edit && (
        <Button size="compact-xs" variant="default" onClick={() => setEditing(b)}>
          Change amount
        </Button>
      ),
  };
  return (
    <>
      <DataTable
        label={label}
        rows={budgets}
        columns={[...columns, change]}
        rowKey={(b) => b.id}
        onOpen={(b) => b.can_edit && setEditing(b)}
        phone={(b) => ({
          top: (
            <>
              <Text span inherit fw={600} truncate>
                {b.name}
              </Text>
              <Text span inherit size="xs" style={{ whiteSpace: "nowrap" }}>
                {formatMoney(b.spent_usd)} of {formatMoney(b.amount_usd)}
              </Text>
            </>
          ),
          bottom: (
            <Text span inherit size="xs" c="dimmed">
              {ownerText(b)} · {formatPercent(b.percent)} · {outlookText(b)}
            </Text>
          ),
        })}
      />
      {editing && <EditBudget budget={editing} onClose={() => setEditing(undefined)} />}
    </>
  );
}

const columns: Column<Budget>[] = [
  {
    id: "name",
    label: "Budget",
    maxWidth: 230,
    sort: (b) => b.name,
    render: (b) => (
      <>
        <Text span inherit truncate title={b.name}>
          {b.name}
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {ownerText(b)}
        </Text>
      </>
    ),
  },
  {
    id: "used",
    label: "Used",
    sort: (b) => b.percent,
    render: (b) => (
      <Group gap={6} wrap="nowrap">
        <UseBar budget={b} />
        <Text span inherit size="xs" ff="monospace">
          {formatPercent(b.percent)}
        </Text>
      </Group>
    ),
  },
  {
    id: "spent",
    label: "Spent",
    numeric: true,
    sort: (b) => Number(b.spent_usd),
    render: (b) => <Money amount={b.spent_usd} />,
  },
  {
    id: "held",
    label: "Held",
    hint: "Reserved for requests in progress",
    numeric: true,
    sort: (b) => Number(b.held_usd),
    render: (b) => <Money amount={b.held_usd} />,
  },
  {
    id: "left",
    label: "Left",
    numeric: true,
    sort: (b) => Number(b.left_usd),
    render: (b) => <Money amount={b.left_usd} />,
  },
  { id: "amount", label: "Budget", numeric: true, sort: (b) => Number(b.amount_usd), render: amountText },
  {
    id: "forecast",
    label: "Forecast",
    hint: "Based on spending in the last 7 days, or the last 24 hours for daily budgets",
    sort: (b) => b.forecast.used_up_at,
    render: (b) => <Forecast budget={b} />,
  },
];

function Forecast({ budget }: { budget: Budget }) {
  const { outlook } = budget.forecast;
  return (
    <Text
      span
      inherit
      fw={outlook === "used_up" || outlook === "runs_out" ? 600 : undefined}
      c={outlook === "unknown" || outlook === "idle" ? "dimmed" : undefined}
    >
      {outlookText(budget)}
    </Text>
  );
}
