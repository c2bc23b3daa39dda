import { Paper, Text } from "@mantine/core";

import { useZone } from "../../lib/preferences";
import { formatBucket } from "../../lib/time";
import classes from "./charts.module.css";

interface Props {
  at: string;
  stepMs: number;
  /** Whether the bucket is still running, so its figures are incomplete. */
  running?: boolean;
  /** Label and value of each line. */
  lines: [string, string][];
}

/** Tooltip with the figures of the bucket under the pointer. */
export function ChartTooltip({ at, stepMs, running, lines }: Props) {
  const [zone] = useZone();
  return (
    <Paper withBorder shadow="md" px="sm" py={6}>
      <Text size="xs" fw={600} mb={2}>
        {formatBucket(at, stepMs, zone)}
        {running && " (so far)"}
      </Text>
      <table>
        <tbody>
          {lines.map(([name, value]) => (
            <tr key={name}>
              <Text component="td" size="xs" c="dimmed" pr="sm">
                {name}
              </Text>
              <Text component="td" size="xs" ta="right" className={classes.number}>
                {value}
              </Text>
            </tr>
          ))}
        </tbody>
      </table>
    </Paper>
  );
}
