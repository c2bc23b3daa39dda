import { Anchor, Box, Button, Group, Menu, Select, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Schema } from "../../api/client";
import { modelsQuery } from "../../api/queries";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Figure } from "../../components/Figure";
import { Icon } from "../../components/Icon";
import { PanelSkeleton } from "../../components/Loading";
import { Money } from "../../components/Money";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { InvalidRange, RangePicker } from "../../components/RangePicker";
import { Section } from "../../components/Section";
import { baselineModels } from "../../lib/baseline";
import { formatCount, formatPercent, formatSaving, plural } from "../../lib/numbers";
import { invalidEnds, type Range, rangeOf } from "../../lib/range";
import { useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { taskLabels } from "../../lib/tasks";
import { ComparisonSummary } from "../comparison/ComparisonSummary";
import { Examples } from "./Examples";
import {
  againstNotes,
  formatInterval,
  formatPoints,
  formatShare,
  headline,
  missingText,
  netSaved,
  newestMonths,
  verdict,
} from "./figures";
import { IntervalChart } from "./IntervalChart";
import classes from "./proof.module.css";
import { proofQuery, statementUrl } from "./query";

type Proof = Schema["Proof"];
type Quality = Schema["QualityReport"];

/** What routing saves, and how its quality compares with the baseline. */
export function ProofPage() {
  const [search, change] = useSearchParams();
  const { server } = useSession();
  const range = rangeOf({ from: search["from"] ?? "now-30d", to: search["to"] });
  const baseline = search["baseline"];
  const query = useQuery(proofQuery(range, server.simulated ? undefined : "false", baseline));
  return (
    <>
      <PageHeader
        title="Proof"
        description="Savings compared with the baseline, and the measured difference in quality."
        actions={<StatementMenu simulated={server.simulated} />}
      />
      <Group mb="sm">
        <RangePicker range={range} onChange={({ from, to }) => change({ from, to }, true)} />
        <BaselineSelect value={baseline} onChange={(model) => change({ baseline: model }, true)} />
        {baseline && query.isFetching && query.isPlaceholderData && (
          <Text size="sm" c="dimmed" role="status">
            Reading the log…
          </Text>
        )}
      </Group>
      <InvalidRange ends={invalidEnds(search)} range={range} />
      {query.error && (!query.data || query.isPlaceholderData) ? (
        <ErrorPanel
          what="Could not load the figures"
          error={query.error}
          onRetry={() => void query.refetch()}
        />
      ) : query.data ? (
        <Box opacity={query.isPlaceholderData ? 0.55 : 1}>
          <Figures proof={query.data} range={range} />
        </Box>
      ) : (
        <Stack gap="sm">
          <PanelSkeleton height={92} />
          <PanelSkeleton height={260} />
        </Stack>
      )}
    </>
  );
}

/** Selects the model that the savings are computed against; by default the baseline that each request recorded. */
function BaselineSelect(props: { value: string | undefined; onChange: (model: string | undefined) => void }) {
  const models = useQuery(modelsQuery);
  const names = baselineModels(models.data?.models ?? []);
  const known = !props.value || names.includes(props.value);
  return (
    <Select
      size="xs"
      w={230}
      aria-label="Baseline"
      placeholder="Baseline: as recorded"
      searchable
      clearable
      clearButtonProps={{ "aria-label": "Use the recorded baselines" }}
      leftSection={<Icon name="swap" size={14} />}
      nothingFoundMessage="No results"
      maxDropdownHeight={320}
      // The button that clears the choice cannot be reached with the keyboard, so an option does the same.
      data={[
        ...(props.value ? [{ value: "", label: "As recorded" }] : []),
        ...(known ? names : [props.value as string, ...names]),
      ]}
      value={props.value ?? null}
      onChange={(model) => props.onChange(model || undefined)}
    />
  );
}

/** Downloads a monthly statement. */
function StatementMenu({ simulated }: { simulated: boolean }) {
  const months = newestMonths(new Date(), 6);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<Icon name="download" size={14} />}>
          Monthly statement
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {(["html", "csv"] as const).map((format) => (
          <div key={format}>
            <Menu.Label>{format === "html" ? "Printable (HTML)" : "CSV"}</Menu.Label>
            {months.map(({ value, label }) => (
              <Menu.Item key={value} component="a" href={statementUrl(value, format, simulated)} download>
                {label}
              </Menu.Item>
            ))}
          </div>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Figures({ proof, range }: { proof: Proof; range: Range }) {
  const { may } = useSession();
  const { quality } = proof;
  return (
    <Stack gap="lg">
      <Text size="lg">{headline(proof)}</Text>
      <Tiles proof={proof} />
      <Text size="xs" c="dimmed">
        Savings are estimated from the same token counts at list prices. Another model might use more or fewer
        tokens. Baseline known for {formatPercent(proof.savings.coverage_percent)} of requests.
        {againstNotes(proof).map((note) => (
          <span key={note}> {note}</span>
        ))}
      </Text>
      <ComparisonSummary editable={may("manage_workspace")} />
      {quality ? <QualitySections quality={quality} names={proof.key_names} /> : <ComparisonOff />}
      <Savings title="Savings by model" rows={proof.models} filter="model" range={range} />
      <Savings title="Savings by key" rows={proof.keys} filter="key" range={range} />
    </Stack>
  );
}

function Tiles({ proof }: { proof: Proof }) {
  const { savings, quality, comparison_cost_usd: cost } = proof;
  const net = netSaved(savings.saved_usd, cost);
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }} spacing="sm">
      <Figure
        label="Saved"
        value={
          <Money
            amount={savings.compared > 0 ? savings.saved_usd : null}
            why="No requests with a known baseline."
          />
        }
      >
        {savings.compared > 0 && (
          <>
            {formatSaving(savings.saved_percent)} of <Money amount={savings.baseline_cost_usd} />
          </>
        )}
      </Figure>
      <Figure
        label="Quality difference"
        value={quality?.difference ? `${formatPoints(quality.difference.value)} points` : "—"}
      >
        {quality?.difference
          ? `95 % interval ${formatInterval(quality.difference)} · ${verdict(quality.difference)}`
          : quality
            ? missingText(quality.samples)
            : "Comparison is off"}
      </Figure>
      <Figure label="Comparisons" value={quality ? formatCount(quality.samples) : "—"}>
        {quality && quality.methods.map(({ name, samples }) => `${name} ${formatCount(samples)}`).join(" · ")}
      </Figure>
      <Figure label="Cost of the comparison" value={<Money amount={cost} why="Comparison is off." />}>
        {net !== null && (
          <>
            Savings minus this cost: <Money amount={net} />
          </>
        )}
      </Figure>
    </SimpleGrid>
  );
}

function ComparisonOff() {
  return (
    <EmptyState icon="shield" title="Quality is not measured">
      Set up comparison to send a random share of requests to the baseline model as well and compare both
      responses. The difference in quality, with its interval, appears here after 50 comparisons.{" "}
      <Anchor href="/docs/guides/comparison">How comparisons work</Anchor>
    </EmptyState>
  );
}

function QualitySections({ quality, names }: { quality: Quality; names: Record<string, string> }) {
  return (
    <>
      <IntervalChart days={quality.days} />
      <Groups title="Quality by task" rows={quality.tasks} names={taskLabels} />
      <Groups title="Quality by model" rows={quality.models} />
      <Groups title="Quality by key" rows={quality.keys} names={names} />
      <Examples title="Worst examples" rows={quality.worst} />
      <Examples title="Best examples" rows={quality.best} />
    </>
  );
}

function Groups({
  title,
  rows,
  names = {},
}: {
  title: string;
  rows: Schema["QualityGroup"][];
  names?: Record<string, string>;
}) {
  if (rows.length === 0) {
    return null;
  }
  return (
    <Section title={title}>
      <div className={classes.scroll} role="region" aria-label={`${title}, table`} tabIndex={0}>
        <Table fz="sm" aria-label={title}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Name</Table.Th>
              {["Comparisons", "Difference, points", "95 % interval", "Better", "Equal", "Worse"].map(
                (heading) => (
                  <Table.Th key={heading} ta="right">
                    {heading}
                  </Table.Th>
                ),
              )}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ name, samples, difference, wins, ties, losses }) => (
              <Table.Tr key={name}>
                <Table.Td>{names[name] ?? name}</Table.Td>
                <Table.Td ta="right" ff="monospace">
                  {formatCount(samples)}
                </Table.Td>
                {difference ? (
                  <>
                    <Table.Td ta="right" ff="monospace">
                      {formatPoints(difference.value)}
                    </Table.Td>
                    <Table.Td ta="right" ff="monospace">
                      {formatInterval(difference)}
                    </Table.Td>
                    {[wins, ties, losses].map((share, i) => (
                      <Table.Td key={i} ta="right" ff="monospace">
                        {share ? formatShare(share) : "—"}
                      </Table.Td>
                    ))}
                  </>
                ) : (
                  <Table.Td ta="right" colSpan={5} c="dimmed">
                    {missingText(samples)}
                  </Table.Td>
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Section>
  );
}

function Savings({
  title,
  rows,
  filter,
  range,
}: {
  title: string;
  rows: Schema["Saving"][];
  filter: "model" | "key";
  range: Range;
}) {
  if (rows.length === 0) {
    return null;
  }
  return (
    <Section title={title}>
      <div className={classes.scroll} role="region" aria-label={`${title}, table`} tabIndex={0}>
        <Table fz="sm" aria-label={title}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Name</Table.Th>
              {["Requests", "Cost", "Baseline cost", "Saved"].map((heading) => (
                <Table.Th key={heading} ta="right">
                  {heading}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row) => (
              <Table.Tr key={row.name}>
                <Table.Td>
                  {row.name ? (
                    <Anchor component={PageLink} to="/requests" search={{ ...range, [filter]: row.name }}>
                      {row.label}
                    </Anchor>
                  ) : (
                    <Text span size="sm" c="dimmed">
                      {filter === "model" ? "Not served" : "No key"}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td
                  ta="right"
                  ff="monospace"
                  title={`Baseline known for ${plural(row.compared, "request")}`}
                >
                  {formatCount(row.requests)}
                </Table.Td>
                {[row.cost_usd, row.baseline_cost_usd, row.saved_usd].map((amount, i) => (
                  <Table.Td key={i} ta="right">
                    <Money amount={i > 0 && row.compared === 0 ? null : amount} why="No known baseline." />
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Section>
  );
}
