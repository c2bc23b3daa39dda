import { Anchor, Box, Button, SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";

import { ApiError } from "../../api/errors";
import { type Column, DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Figure } from "../../components/Figure";
import { Icon } from "../../components/Icon";
import { PanelSkeleton } from "../../components/Loading";
import { Money } from "../../components/Money";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { formatMoney } from "../../lib/money";
import { formatCount, formatPercent } from "../../lib/numbers";
import { useGo } from "../../lib/search";
import { useSession } from "../../lib/session";
import { alertsQuery } from "../alerts/query";
import { RuleDialog } from "../alerts/RuleDialog";
import { BurnDown } from "./BurnDown";
import { EditBudget } from "./EditBudget";
import { type BudgetDetail, budgetQuery } from "./query";
import { amountText, dayText, outlookText, ownerText, rangeText } from "./text";
import { UseBar } from "./UseBar";

/** One budget: its burn-down, spenders and rejected requests. */
export function BudgetPage() {
  const { id = "" }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(budgetQuery(id));
  return (
    <Box maw={1040}>
      <Anchor component={PageLink} to="/budgets" size="sm">
        <Icon name="chevronLeft" size={12} /> Budgets
      </Anchor>
      {data ? (
        <Loaded budget={data} />
      ) : (
        <>
          <PageHeader title="Budget" />
          {error instanceof ApiError && error.status === 404 ? (
            <EmptyState icon="wallet" title="Budget not found">
              It may have been removed, or belong to another workspace.
            </EmptyState>
          ) : (
            error && (
              <ErrorPanel what="Could not load the budget" error={error} onRetry={() => void refetch()} />
            )
          )}
          {!error && <PanelSkeleton />}
        </>
      )}
    </Box>
  );
}

function Loaded({ budget }: { budget: BudgetDetail }) {
  const [editing, setEditing] = useState(false);
  return (
    <>
      <PageHeader
        title={budget.name}
        description={`${ownerText(budget)} · ${amountText(budget)}`}
        actions={
          <>
            <AlertButton budget={budget} />
            {budget.can_edit && (
              <Button
                size="xs"
                variant="default"
                leftSection={<Icon name="edit" size={14} />}
                onClick={() => setEditing(true)}
              >
                Change amount
              </Button>
            )}
          </>
        }
      />
      <Box mb="md">
        <UseBar budget={budget} size="lg" />
        <Text mt="xs" fw={600}>
          {outlookText(budget)}
        </Text>
        <Text size="sm" c="dimmed">
          {rangeText(budget)} {consequence(budget)}
        </Text>
      </Box>
      <Summary budget={budget} />
      <Box mb="xl">
        <BurnDown budget={budget} />
      </Box>
      <Spenders budget={budget} />
      <Rejected budget={budget} />
      <EditBudget budget={budget} opened={editing} onClose={() => setEditing(false)} />
    </>
  );
}

/** Describes what happens when the budget is used up. */
function consequence(budget: BudgetDetail): string {
  if (budget.warn_only) {
    return "Requests are served even when the budget is used up.";
  }
  const cheaper = budget.downgrade
    ? `Once ${budget.warn_percent || 80} % is spent, requests are routed with auto:cost. `
    : "";
  return `${cheaper}Requests are rejected when the budget is used up.`;
}

function Summary({ budget: b }: { budget: BudgetDetail }) {
  const { forecast } = b;
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, md: 5 }} mb="md" spacing="xs">
      <Figure label="Spent" value={<Money amount={b.spent_usd} />}>
        {formatPercent(b.percent)} of the budget
      </Figure>
      <Figure label="Held" value={<Money amount={b.held_usd} />}>
        for requests in progress
      </Figure>
      <Figure label="Left" value={<Money amount={b.left_usd} />}>
        of {formatMoney(b.amount_usd)}
      </Figure>
      <Figure label="Average per day" value={<Money amount={forecast.per_day_usd} />}>
        last {b.period === "day" ? "24 hours" : "7 days"}
      </Figure>
      {b.resets_at ? (
        <Figure
          label="Expected spend at reset"
          value={<Money amount={forecast.expected_usd} why="Not enough data for a forecast." />}
        >
          {forecast.low_usd != null
            ? `80 % range ${formatMoney(forecast.low_usd)} to ${formatMoney(forecast.high_usd)}`
            : `resets ${dayText(b.resets_at, b)}`}
        </Figure>
      ) : (
        <Figure label="Period" value="Never resets">
          since <Time at={b.curve_start} as="day" />
        </Figure>
      )}
    </SimpleGrid>
  );
}

/** Opens the form of an alert rule for this budget. Rules watch budgets of the workspace and of keys. */
function AlertButton({ budget }: { budget: BudgetDetail }) {
  const { may } = useSession();
  const [opened, setOpened] = useState(false);
  const watched = budget.kind === "workspace" || budget.kind === "key";
  const { data } = useQuery({ ...alertsQuery, enabled: opened });
  if (!watched || !may("manage_alerts")) {
    return null;
  }
  return (
    <>
      <Button
        size="xs"
        variant="default"
        leftSection={<Icon name="alert" size={14} />}
        loading={opened && !data}
        onClick={() => setOpened(true)}
      >
        Add alert
      </Button>
      {data && (
        <RuleDialog
          alerts={data}
          editing={opened ? "new" : undefined}
          preset={{ kind: budget.resets_at ? "forecast" : "budget", key: budget.key_id ?? "" }}
          onClose={() => setOpened(false)}
        />
      )}
    </>
  );
}

type Spender = BudgetDetail["spenders"][number];

function Spenders({ budget }: { budget: BudgetDetail }) {
  const by = (kind: Spender["by"]) => budget.spenders.filter((s) => s.by === kind);
  const period = budget.resets_at ? "in this period" : "so far";
  if (budget.spenders.length === 0) {
    return (
      <Section title="Top spenders">
        <Text size="sm" c="dimmed">
          No spending {period}.
        </Text>
      </Section>
    );
  }
  return (
    <SimpleGrid cols={{ base: 1, md: by("key").length > 0 ? 2 : 1 }} spacing="md">
      {(["key", "model", "request"] as const)
        .filter((kind) => by(kind).length > 0)
        .map((kind) => (
          <Section key={kind} title={titles[kind]}>
            <SpenderTable budget={budget} label={tables[kind]} spenders={by(kind)} />
          </Section>
        ))}
    </SimpleGrid>
  );
}

const titles = {
  key: "Top keys by spend",
  model: "Top models by spend",
  request: "Most expensive requests",
};

/** The names of the tables in these sections. */
const tables = { key: "Spending by key", model: "Spending by model", request: "Requests by cost" };

function SpenderTable(props: { budget: BudgetDetail; label: string; spenders: Spender[] }) {
  const go = useGo();
  const { budget, label, spenders } = props;
  const share = (s: Spender) => formatPercent((100 * Number(s.cost_usd)) / Number(budget.spent_usd));
  const columns: Column<Spender>[] = [
    { id: "name", label: "Name", maxWidth: 240, render: (s) => <SpenderName budget={budget} spender={s} /> },
    {
      id: "requests",
      label: "Requests",
      numeric: true,
      sort: (s) => s.requests,
      render: (s) => formatCount(s.requests),
    },
    {
      id: "cost",
      label: "Cost",
      numeric: true,
      sort: (s) => Number(s.cost_usd),
      render: (s) => <Money amount={s.cost_usd} />,
    },
    { id: "share", label: "Share", numeric: true, render: share },
  ];
  return (
    <DataTable
      label={label}
      rows={spenders}
      columns={spenders[0]?.by === "request" ? columns.filter((c) => c.id !== "requests") : columns}
      rowKey={(s) => s.name}
      onOpen={(s) => void go(destination(budget, s))}
      phone={(s) => ({
        top: (
          <>
            <Text span inherit truncate>
              {s.label}
            </Text>
            <Money amount={s.cost_usd} />
          </>
        ),
        bottom: (
          <Text span inherit size="xs" c="dimmed">
            {formatCount(s.requests)} requests · {share(s)}
          </Text>
        ),
      })}
    />
  );
}

function SpenderName({ budget, spender }: { budget: BudgetDetail; spender: Spender }) {
  return (
    <Anchor component={PageLink} {...destination(budget, spender)} inherit title={spender.label}>
      {spender.by === "request" ? spender.name : spender.label}
    </Anchor>
  );
}

/** The page with the requests of a spender. */
function destination(budget: BudgetDetail, spender: Spender) {
  if (spender.by === "request") {
    return { to: "/requests/$id", params: { id: spender.name } };
  }
  const search = {
    from: budget.curve_start,
    ...(budget.key_id && { key: budget.key_id }),
    ...(spender.by === "model"
      ? { model: spender.name }
      : spender.name
        ? { key: spender.name }
        : { source: "playground" }),
  };
  return { to: "/requests", search };
}

type Rejection = BudgetDetail["rejected"][number];

function Rejected({ budget }: { budget: BudgetDetail }) {
  const go = useGo();
  const columns: Column<Rejection>[] = [
    { id: "at", label: "Time", render: (r) => <Time at={r.at} as="stack" /> },
    {
      id: "id",
      label: "Request",
      maxWidth: 170,
      render: (r) => (
        <Anchor component={PageLink} to="/requests/$id" params={{ id: r.id }} inherit title={r.id}>
          {r.id}
        </Anchor>
      ),
    },
    { id: "key", label: "Key", maxWidth: 120, render: (r) => r.key_name ?? "Playground" },
    { id: "model", label: "Model", maxWidth: 140, render: (r) => r.requested_model },
    {
      id: "message",
      label: "Reason",
      maxWidth: 420,
      render: (r) => <span title={r.message}>{r.message}</span>,
    },
  ];
  return (
    <Section title="Rejected requests">
      {budget.rejected.length === 0 ? (
        <Text size="sm" c="dimmed">
          No requests were rejected by this budget {budget.resets_at ? "in this period" : "so far"}.
        </Text>
      ) : (
        <DataTable
          label="Requests rejected by this budget"
          rows={budget.rejected}
          columns={columns}
          rowKey={(r) => r.id}
          onOpen={(r) => void go({ to: "/requests/$id", params: { id: r.id } })}
          phone={(r) => ({
            top: (
              <>
                <Text span inherit truncate>
                  {r.requested_model}
                </Text>
                <Text span inherit size="xs" c="dimmed">
                  <Time at={r.at} />
                </Text>
              </>
            ),
            bottom: (
              <Text span inherit size="xs" c="dimmed" truncate>
                {r.message}
              </Text>
            ),
          })}
        />
      )}
    </Section>
  );
}
