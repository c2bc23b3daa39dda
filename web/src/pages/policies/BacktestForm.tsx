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
  onStart: (ask: BacktestRequest) => void;
}

const objectives = [
  { value: "", label: "What each request asks for" },
  { value: "cost", label: "The lowest cost" },
  { value: "quality", label: "The best answer" },
  { value: "speed", label: "The fastest answer" },
  { value: "number", label: "A number from 0 to 1" },
];

const most = 1_000_000;

/** Which requests are decided anew, and by what. */
export function BacktestForm({ draft, broken, pending, onStart }: Props) {
  const [range, setRange] = useState<Range>({ from: "now-7d" });
  const [filters, setFilters] = useState<Filters>({});
  const [by, setBy] = useState<"draft" | "live">("draft");
  const [objective, setObjective] = useState("");
  const [tradeoff, setTradeoff] = useState<number | string>(0.5);
  const [limit, setLimit] = useState<number | string>(50_000);
  const facets = useQuery(facetsQuery(range));
  const tried = by === "draft" ? draft : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const aim = objective === "number" ? String(tradeoff) : objective;
        onStart({
          range,
          filters,
          body: { source: tried, objective: aim || undefined, limit: Number(limit) || 50_000 },
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
          done="Take these"
        />
        <Group gap="sm" align="flex-end">
          {draft !== undefined && (
            <SegmentedControl
              size="xs"
              aria-label="Policies"
              value={by}
              onChange={(value) => setBy(value as "draft" | "live")}
              data={[
                { value: "draft", label: "The draft" },
                { value: "live", label: "What is in force" },
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
            label="Requests at most"
            min={1}
            max={most}
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
            Run the backtest
          </Button>
        </Group>
        <Text size="xs" c="dimmed">
          {explanation(draft !== undefined && by === "draft", broken)}
        </Text>
      </Stack>
    </form>
  );
}

function explanation(tried: boolean, broken: boolean): string {
  if (broken) {
    return "The draft has problems: solve them first, or discard it.";
  }
  return tried
    ? "The newest requests of the range are decided again under the draft, and compared with what was chosen and with what is in force."
    : "There is no draft: the newest requests of the range are decided again by what is in force today, and compared with what was chosen.";
}
