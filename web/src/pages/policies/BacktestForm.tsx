import { Button, Group, NumberInput, SegmentedControl, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { facetsQuery } from "../../api/queries";
import type { BacktestRequest } from "../../api/routing";
import { FilterBar } from "../../components/FilterBar";
import { Icon } from "../../components/Icon";
import { RangePicker } from "../../components/RangePicker";
import { cleared, type Filters } from "../../lib/filters";
import type { Range } from "../../lib/range";

interface Props {
  draft?: string;
  broken: boolean;
  pending: boolean;
  onStart: (request: BacktestRequest) => void;
}

const objectives = [
  { value: "", label: "As requested" },
  { value: "cost", label: "Lowest cost" },
  { value: "quality", label: "Best quality" },
  { value: "speed", label: "Lowest latency" },
  { value: "number", label: "Custom trade-off" },
];

const maxLimit = 1_000_000;

/** Selects the requests, policies and objective of a backtest. */
export function BacktestForm({ draft, broken, pending, onStart }: Props) {
  const [range, setRange] = useState<Range>({ from: "now-7d" });
  const [filters, setFilters] = useState<Filters>({});
  const [by, setBy] = useState<"draft" | "live">("draft");
  const [objective, setObjective] = useState("");
  const [tradeoff, setTradeoff] = useState<number | string>(0.5);
  const [limit, setLimit] = useState<number | string>(50_000);
  const facets = useQuery(facetsQuery(range));
  const source = by === "draft" ? draft : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const chosen = objective === "number" ? String(tradeoff) : objective;
        onStart({
          range,
          filters,
          body: { source, objective: chosen || undefined, limit: Number(limit) || 50_000 },
        });
      }}
    >
      <Stack gap="xs">
        <FilterBar
          before={<RangePicker range={range} onChange={setRange} />}
          filters={filters}
          facets={facets.data}
          names={["model", "provider", "key", "policy", "decision"]}
          onChange={(change) => setFilters({ ...filters, ...change })}
          onClear={() => setFilters(cleared())}
          done="Apply filters"
        />
        <Group gap="sm" align="flex-end">
          {draft !== undefined && (
            <SegmentedControl
              size="xs"
              aria-label="Policies"
              value={by}
              onChange={(value) => setBy(value as "draft" | "live")}
              data={[
                { value: "draft", label: "Draft" },
                { value: "live", label: "Current policies" },
              ]}
            />
          )}
          <Select
            size="xs"
            label="Objective"
            w={210}
            allowDeselect={false}
            data={objectives}
            value={objective}
            onChange={(value) => setObjective(value ?? "")}
          />
          {objective === "number" && (
            <NumberInput
              size="xs"
              w={90}
              label="Trade-off"
              min={0}
              max={1}
              step={0.05}
              value={tradeoff}
              onChange={setTradeoff}
            />
          )}
          <NumberInput
            size="xs"
            w={150}
            label="Max requests"
            min={1}
            max={maxLimit}
            step={10_000}
            thousandSeparator=","
            allowDecimal={false}
            value={limit}
            onChange={setLimit}
          />
          <Button
            type="submit"
            size="xs"
            loading={pending}
            disabled={broken && by === "draft"}
            leftSection={<Icon name="play" size={14} />}
          >
            Run backtest
          </Button>
        </Group>
        <Text size="xs" c="dimmed">
          {explanation(draft !== undefined && by === "draft", broken)}
        </Text>
      </Stack>
    </form>
  );
}

function explanation(usesDraft: boolean, broken: boolean): string {
  if (broken) {
    return "The draft has errors. Fix or discard it first.";
  }
  return usesDraft
    ? "Re-runs the newest requests of the time range with the draft and compares the result with the original and the current routing."
    : "No draft. Re-runs recent requests with the current policies.";
}
