import { Button, Group, Select, Stack, Switch, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { backtestQuery, backtestsQuery, startBacktest } from "../../api/routing";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { RangePicker } from "../../components/RangePicker";
import type { Range } from "../../lib/range";
import { BacktestJob } from "../policies/BacktestJob";

interface Props {
  model: string;
  /** Vendors that have the model and can be connected. */
  vendors: string[];
}

const maxRequests = 50_000;

/** Re-runs past requests as if a vendor were connected, and shows what would change. */
export function WhatIf({ model, vendors }: Props) {
  const [vendor, setVendor] = useState(vendors[0] ?? "");
  const [all, setAll] = useState(false);
  const [range, setRange] = useState<Range>({ from: "now-30d" });
  const queryClient = useQueryClient();
  const start = useMutation({
    mutationFn: () =>
      startBacktest({
        range,
        filters: {},
        body: { connect: [{ vendor, models: all ? undefined : [model] }], limit: maxRequests },
      }),
    onSuccess: (job) => {
      queryClient.setQueryData(backtestQuery(job.id).queryKey, job);
      void queryClient.invalidateQueries({ queryKey: backtestsQuery.queryKey, exact: true });
    },
  });
  return (
    <Stack gap="sm">
      <Text size="sm">
        Simulates routing your past requests with this model as an additional candidate, at its catalog price.
        No provider is called or connected.
      </Text>
      <Group gap="sm" align="flex-end">
        <RangePicker range={range} onChange={setRange} />
        {vendors.length > 1 && (
          <Select
            size="xs"
            w={170}
            label="Provider"
            allowDeselect={false}
            data={vendors}
            value={vendor}
            onChange={(value) => setVendor(value ?? vendor)}
          />
        )}
        <Switch
          size="xs"
          label={`All ${vendor} models`}
          checked={all}
          onChange={(event) => setAll(event.currentTarget.checked)}
        />
        <Button
          size="xs"
          loading={start.isPending}
          leftSection={<Icon name="play" size={14} />}
          onClick={() => start.mutate()}
        >
          Run backtest
        </Button>
      </Group>
      {start.error && <ErrorPanel what="Could not start the backtest" error={start.error} />}
      {start.data && <BacktestJob key={start.data.id} id={start.data.id} />}
    </Stack>
  );
}
