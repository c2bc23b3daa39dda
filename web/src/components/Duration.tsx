import { Text } from "@mantine/core";

import { formatDuration, formatLatency } from "../lib/numbers";

/** A latency, with the time to first token below it if known. */
export function Duration({ ms, ttft }: { ms: number | null | undefined; ttft?: number | null }) {
  return (
    <Text component="div" inherit ff="monospace">
      {formatLatency(ms)}
      {ttft != null && (
        <Text component="div" fz="0.85em" c="dimmed" ff="monospace" title="Time to first token">
          {formatDuration(ttft)}
        </Text>
      )}
    </Text>
  );
}
