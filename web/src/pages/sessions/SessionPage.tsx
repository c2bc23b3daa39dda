import { Alert, Anchor, Box, Button, Group, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";

import type { Schema } from "../../api/client";
import { ApiError } from "../../api/errors";
import { sessionDetailQuery, turnsQuery } from "../../api/sessions";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Figure } from "../../components/Figure";
import { Icon } from "../../components/Icon";
import { PanelSkeleton, RowsSkeleton } from "../../components/Loading";
import { Money } from "../../components/Money";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { formatMoney } from "../../lib/money";
import { formatChange, formatCount, formatDuration, formatPercent, plural } from "../../lib/numbers";
import { useSearchParams } from "../../lib/search";
import { durationOf, runningCosts, splitTime } from "./figures";
import { cost } from "./SessionsPage";
import { TurnView } from "./TurnView";

/** One session: its sums, its budgets, and its turns in order. */
export function SessionPage() {
  const { id = "" }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(sessionDetailQuery(id));
  return (
    <Box maw={1040}>
      <Anchor component={PageLink} to="/sessions" size="sm">
        <Icon name="chevronLeft" size={12} /> Sessions
      </Anchor>
      <PageHeader
        title="Session"
        description={<span style={{ overflowWrap: "anywhere" }}>{id}</span>}
        actions={
          <Button
            size="xs"
            variant="default"
            component={PageLink}
            to="/requests"
            search={{ session: id, from: "now-30d" }}
          >
            Show as requests
          </Button>
        }
      />
      {error instanceof ApiError && error.status === 404 ? (
        <EmptyState title="Session not found">
          It may have been deleted, or belong to another workspace.
        </EmptyState>
      ) : (
        error && <ErrorPanel what="Could not load the session" error={error} onRetry={() => void refetch()} />
      )}
      {!data && !error && <PanelSkeleton />}
      {data && <Loaded session={data} />}
    </Box>
  );
}

function Loaded({ session }: { session: Schema["SessionDetail"] }) {
  const turns = useInfiniteQuery(turnsQuery(session.id));
  const [search] = useSearchParams();
  const rows = turns.data?.pages.flatMap((page) => page.turns) ?? [];
  const gone = turns.data?.pages[0]?.gone ?? 0;
  const totals = runningCosts(rows);
  const complete = turns.data !== undefined && !turns.hasNextPage;
  return (
    <>
      <Summary session={session} />
      {session.budgets.map((budget) => (
        <Budget key={budget.of} budget={budget} />
      ))}
      {rows.length > 0 && <TimeBar turns={rows} complete={complete} />}
      <Section title="Turns">
        {turns.error && (
          <ErrorPanel what="Could not load turns" error={turns.error} onRetry={() => void turns.refetch()} />
        )}
        {!turns.data && !turns.error && <RowsSkeleton />}
        {turns.data && rows.length === 0 && (
          <EmptyState title="No turns">The requests of this session were deleted.</EmptyState>
        )}
        {gone > 0 && (
          <Text size="sm" c="dimmed" mb="xs">
            {plural(gone, "earlier turn")} no longer in the log
          </Text>
        )}
        <Stack gap="xs">
          {rows.map((turn, i) => (
            <TurnView
              key={turn.id}
              session={session.id}
              turn={turn}
              total={totals[i] ?? "0"}
              marked={search["turn"] === turn.id}
            />
          ))}
        </Stack>
        {turns.hasNextPage && (
          <Group justify="center" mt="md">
            <Button
              variant="default"
              loading={turns.isFetchingNextPage}
              onClick={() => void turns.fetchNextPage()}
            >
              Load more turns
            </Button>
          </Group>
        )}
      </Section>
    </>
  );
}

function Summary({ session: s }: { session: Schema["SessionDetail"] }) {
  const cached = s.input_tokens > 0 ? (100 * s.cached_tokens) / s.input_tokens : null;
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, md: 5 }} mb="md" spacing="xs">
      <Figure label="Cost" value={<Money amount={cost(s)} />}>
        {s.unpriced > 0 && `${plural(s.unpriced, "turn")} without a price`}
      </Figure>
      <Figure label="vs baseline" value={formatChange(s.saved_percent)}>
        Baseline {formatMoney(s.baseline_cost_usd)}
      </Figure>
      <Figure label="Turns" value={formatCount(s.turns)}>
        {s.errors > 0 && `${plural(s.errors, "error")} `}
        {s.rejected > 0 && `${formatCount(s.rejected)} rejected`}
      </Figure>
      <Figure
        label="Tokens in / out"
        value={`${formatCount(s.input_tokens)} / ${formatCount(s.output_tokens)}`}
      >
        {cached !== null && `${formatPercent(cached, 0)} cached`}
      </Figure>
      <Figure label="Duration" value={formatDuration(durationOf(s))}>
        Last activity <Time at={s.last} as="age" />
      </Figure>
    </SimpleGrid>
  );
}

const owners: Record<string, string> = { session: "Session budget", user: "End-user budget" };

function Budget({ budget }: { budget: Schema["SessionBudget"] }) {
  const used = budget.percent ?? 0;
  const warn = budget.warn_percent || 80;
  const label = owners[budget.of] ?? "Budget";
  return (
    <Box mb="sm">
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={600}>
          {label}
          {budget.by_policy && ", set by a policy"}
        </Text>
        <Text size="sm" c="dimmed">
          {formatMoney(budget.spent_usd)} of {formatMoney(budget.amount_usd)} spent
        </Text>
      </Group>
      <Progress
        value={Math.min(100, used)}
        color={used >= 100 ? "red" : used >= warn ? "orange" : "blue"}
        aria-label={label}
      />
      {used >= 100 ? (
        <Alert mt="xs" color="red" title="Budget used up">
          New requests are rejected. To resume, raise the budget in{" "}
          {budget.by_policy ? "the policy that sets it" : "the session limits of the API key"}.
        </Alert>
      ) : (
        used >= warn &&
        budget.downgrade && (
          <Alert mt="xs" color="orange" title="Downgraded">
            Requests are routed with auto:cost until the budget is raised.
          </Alert>
        )
      )}
    </Box>
  );
}

function TimeBar({ turns, complete }: { turns: Schema["Turn"][]; complete: boolean }) {
  const split = splitTime(turns);
  const total = Math.max(1, split.model + split.tools + split.gateway);
  const parts = [
    { label: "Model", ms: split.model, color: "blue" },
    { label: "Tools and pauses", ms: split.tools, color: "gray" },
    { label: "Gateway", ms: split.gateway, color: "orange" },
  ];
  return (
    <Box mb="md" role="group" aria-label="Time">
      <Progress.Root size="md">
        {parts.map((part) => (
          <Progress.Section
            key={part.label}
            value={(100 * part.ms) / total}
            color={part.color}
            aria-label={part.label}
          />
        ))}
      </Progress.Root>
      <Group gap="md" mt={4}>
        {parts.map((part) => (
          <Text key={part.label} size="xs" c="dimmed">
            {part.label} {formatDuration(part.ms)}
          </Text>
        ))}
        {!complete && (
          <Text size="xs" c="dimmed">
            First {plural(turns.length, "turn")} only
          </Text>
        )}
      </Group>
    </Box>
  );
}
