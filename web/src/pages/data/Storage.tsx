import { Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Schema } from "../../api/client";
import { Time } from "../../components/Time";
import { formatBytes } from "../../lib/numbers";
import { useZone } from "../../lib/preferences";
import { useNow } from "../../lib/useNow";
import { forecastText } from "./forecast";

/** Storage use of the whole gateway, shown to its operator. */
export function Storage({ storage, store }: { storage: Schema["StorageView"]; store: string }) {
  const spool = storage.spool_bytes;
  const limit = storage.spool_limit_bytes;
  const percent = spool != null && limit ? (100 * spool) / limit : null;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 6 }} spacing="md">
      <Fact label="Database" value={formatBytes(storage.database_bytes)}>
        {store === "sqlite" ? "SQLite, all workspaces." : "PostgreSQL, all workspaces."}
      </Fact>
      <Fact label="Free disk space" value={formatBytes(storage.free_bytes)}>
        {store === "sqlite"
          ? "Disk that holds the database and the write queue."
          : "Disk that holds the write queue, not the database."}
      </Fact>
      <Fact label="Write queue" value={formatBytes(spool)}>
        Limit {formatBytes(limit)}. When full, new requests are rejected.
        {percent !== null && (
          <Progress
            value={percent}
            mt={6}
            size="sm"
            color={percent > 80 ? "red" : "cyan"}
            aria-label="Write queue used"
          />
        )}
      </Fact>
      <Fact label="Oldest request" value={<Time at={storage.oldest_request} as="day" none="none yet" />}>
        Across all workspaces.
      </Fact>
      {storage.messages && (
        <Fact label="Stored per request" value={formatBytes(storage.messages.stored_bytes_per_request)}>
          {`Prompts of the last 7 days. Deduplication and compression save ${storage.messages.saved_percent.toFixed(0)} % of ${formatBytes(storage.messages.request_bytes)}.`}
        </Fact>
      )}
      {storage.forecast && <Forecast forecast={storage.forecast} store={store} />}
    </SimpleGrid>
  );
}

function Forecast({ forecast, store }: { forecast: Schema["StorageForecast"]; store: string }) {
  const [zone] = useZone();
  const { value, text } = forecastText(forecast, store, zone, useNow(60_000));
  return (
    <Fact label="Forecast" value={value}>
      {text}
    </Fact>
  );
}

function Fact({ label, value, children }: { label: string; value: ReactNode; children: ReactNode }) {
  return (
    <Stack gap={2}>
      <Text size="xs" c="dimmed" fw={600}>
        {label}
      </Text>
      <Text size="lg" ff="monospace" component="div">
        {value}
      </Text>
      <Text size="xs" c="dimmed" component="div">
        {children}
      </Text>
    </Stack>
  );
}
