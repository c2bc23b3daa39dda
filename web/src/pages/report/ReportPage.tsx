import {
  Alert,
  Box,
  Button,
  Group,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PanelSkeleton, RowsSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { InvalidRange, RangePicker } from "../../components/RangePicker";
import { invalidEnds, wider } from "../../lib/range";
import { useGo, useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { reportQuery } from "./query";
import {
  dimensions,
  exportUrl,
  listSearch,
  type Measure,
  measures,
  parametersOf,
  type Report,
  rowsOf,
  type Selection,
  selectionOf,
} from "./report";
import { ReportChart } from "./ReportChart";
import { ReportTimeChart } from "./ReportTimeChart";
import { ReportTable } from "./ReportTable";

/** Figures by one or two dimensions. */
export function ReportPage() {
  const [search, change] = useSearchParams();
  const { server } = useSession();
  const selection = selectionOf(search);
  const parameters = parametersOf(selection, server.simulated);
  const { data, error, isPlaceholderData, refetch } = useQuery(reportQuery(parameters));
  const { range } = selection;
  return (
    <>
      <PageHeader
        title="Report"
        description="Spend, savings, requests, latency and errors by any two dimensions"
        actions={
          <Button
            component="a"
            href={exportUrl(parameters)}
            download
            variant="default"
            size="xs"
            leftSection={<Icon name="download" size={14} />}
          >
            Export CSV
          </Button>
        }
      />
      <Group gap="xs" mb="sm" align="flex-end">
        <RangePicker range={range} onChange={({ from, to }) => change({ from, to }, true)} />
        <DimensionSelect
          label="Group by"
          value={selection.by}
          onChange={(by) => change({ by, then: selection.then === by ? undefined : selection.then })}
        />
        <DimensionSelect
          label="Then by"
          value={selection.then}
          without={selection.by}
          clearable
          onChange={(then) => change({ then })}
        />
        <SegmentedControl
          size="xs"
          aria-label="Measure"
          data={measures}
          value={selection.measure}
          onChange={(value) => change({ measure: value as Measure })}
        />
        <Stack gap={2}>
          {!server.simulated && (
            <Switch
              size="xs"
              label="Simulated"
              aria-label="Include simulated requests"
              checked={selection.simulated === "include"}
              onChange={(event) => change({ simulated: event.currentTarget.checked ? "include" : undefined })}
            />
          )}
          <Switch
            size="xs"
            label="Playground"
            aria-label="Include Playground requests"
            checked={selection.source === "all"}
            onChange={(event) => change({ source: event.currentTarget.checked ? "all" : undefined })}
          />
        </Stack>
      </Group>
      <ActiveFilters selection={selection} onRemove={(name) => change({ [name]: undefined })} />
      <InvalidRange ends={invalidEnds(search)} range={range} />
      {error && !isPlaceholderData && !data ? (
        <ErrorPanel what="Could not load the report" error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Stack gap="sm">
          <PanelSkeleton height={260} />
          <RowsSkeleton rows={6} />
        </Stack>
      ) : (
        <Box opacity={isPlaceholderData ? 0.55 : 1}>
          {error && (
            <ErrorPanel what="Could not load the report" error={error} onRetry={() => void refetch()} />
          )}
          <Result
            report={data}
            selection={selection}
            onlySimulator={server.simulated}
            onRange={({ from, to }) => change({ from, to }, true)}
          />
        </Box>
      )}
    </>
  );
}

interface ResultProps {
  report: Report;
  selection: Selection;
  onlySimulator: boolean;
  onRange: (range: { from: string; to?: string }) => void;
}

function Result({ report, selection, onlySimulator, onRange }: ResultProps) {
  const go = useGo();
  const longer = wider(selection.range);
  if (report.total.requests === 0) {
    return (
      <EmptyState
        icon="chart"
        title="No requests in this range"
        actions={
          longer && (
            <Button size="xs" variant="default" onClick={() => onRange(longer)}>
              Show a longer range
            </Button>
          )
        }
      >
        Groups appear here after the first request. Tag requests with the header X-Fairlead-Tags to group by
        team or feature.
      </EmptyState>
    );
  }
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        <ReportTimeChart
          parameters={parametersOf(selection, onlySimulator)}
          onZoom={onRange}
          onPick={(range) =>
            void go({
              to: "/requests",
              search: { ...listSearch(selection, onlySimulator), ...range } as never,
            })
          }
        />
        <ReportChart report={report} />
      </SimpleGrid>
      <ReportTable report={report} rows={rowsOf(report, selection, onlySimulator)} />
      {report.notes.length > 0 && (
        <Alert
          role="note"
          variant="outline"
          color={report.sampled ? "yellow" : "gray"}
          py={8}
          title={report.sampled ? "Groups estimated from a sample" : "About these figures"}
        >
          <Stack gap={2}>
            {report.notes.map(({ code, message }) => (
              <Text key={code} size="sm">
                {message}
              </Text>
            ))}
          </Stack>
        </Alert>
      )}
    </Stack>
  );
}

interface DimensionProps {
  label: string;
  value: string | undefined;
  /** A dimension that cannot be chosen. */
  without?: string;
  clearable?: boolean;
  onChange: (dimension: string | undefined) => void;
}

const tagOption = "tag:";

/** Selects a dimension. For a tag it also asks for the name of the tag. */
function DimensionSelect({ label, value, without, clearable, onChange }: DimensionProps) {
  const [naming, setNaming] = useState(false);
  const tag = value?.startsWith(tagOption) ? value.slice(tagOption.length) : undefined;
  const [name, setName] = useState(tag ?? "");
  const asksName = naming || tag !== undefined;
  const apply = () => {
    if (name.trim() !== "" && name.trim() !== tag) {
      onChange(tagOption + name.trim());
    }
  };
  return (
    <Group gap={4} wrap="nowrap" align="flex-end">
      <Select
        size="xs"
        w={130}
        label={label}
        placeholder="None"
        data={[...dimensions.filter((d) => d.value !== without), { value: tagOption, label: "Tag…" }]}
        value={asksName ? tagOption : (value ?? null)}
        allowDeselect={false}
        clearable={clearable}
        clearButtonProps={{ "aria-label": `Clear ${label.toLowerCase()}` }}
        comboboxProps={{ shadow: "md" }}
        onChange={(next) => {
          setNaming(next === tagOption);
          if (next !== tagOption) {
            onChange(next ?? undefined);
          }
        }}
      />
      {asksName && (
        <TextInput
          size="xs"
          w={110}
          label="Tag name"
          aria-label={`${label}: tag name`}
          placeholder="team"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          onBlur={apply}
          onKeyDown={(event) => event.key === "Enter" && apply()}
        />
      )}
    </Group>
  );
}

function ActiveFilters({ selection, onRemove }: { selection: Selection; onRemove: (name: string) => void }) {
  const active = Object.entries(selection.filters);
  return (
    active.length > 0 && (
      <Group gap="xs" mb="sm">
        {active.map(([name, value]) => (
          <Button
            key={name}
            size="xs"
            variant="light"
            rightSection={<Icon name="x" size={12} />}
            aria-label={`Remove filter ${name} ${value}`}
            onClick={() => onRemove(name)}
          >
            {name}: {value}
          </Button>
        ))}
      </Group>
    )
  );
}
