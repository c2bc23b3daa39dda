import { Button, Group, Table, Text, Tooltip } from "@mantine/core";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { Icon } from "../../components/Icon";
import { Time } from "../../components/Time";
import { formatCount, formatPercent, plural } from "../../lib/numbers";
import { useZone } from "../../lib/preferences";
import { formatDay } from "../../lib/time";
import classes from "./timeline.module.css";

/** The status of a provider on one day. */
export type StatusDay = Schema["StatusDay"];

const words: Record<StatusDay["status"], string> = {
  ok: "OK",
  degraded: "Degraded",
  failing: "Failing",
  unused: "No calls",
};

/** The status of a provider on each of the last 30 days. */
export function StatusTimeline({ days }: { days: StatusDay[] }) {
  const [zone] = useZone();
  const [asTable, setAsTable] = useState(false);
  const first = days[0];
  return (
    <div>
      {asTable ? (
        <DayTable days={days} />
      ) : (
        <>
          <ol className={classes.days} aria-label="Status by day">
            {days.map((day) => {
              const text = `${formatDay(day.start, zone)}: ${dayText(day)}`;
              return (
                <li key={day.start}>
                  <Tooltip label={text}>
                    <span
                      role="img"
                      aria-label={text}
                      tabIndex={day.status === "ok" || day.status === "unused" ? undefined : 0}
                      className={classes.day}
                      data-status={day.status}
                    />
                  </Tooltip>
                </li>
              );
            })}
          </ol>
          <Group justify="space-between" gap="xs">
            <Text size="xs" c="dimmed">
              {first && formatDay(first.start, zone)}
            </Text>
            <Text size="xs" c="dimmed">
              Today
            </Text>
          </Group>
        </>
      )}
      <Group justify="space-between" mt={4} gap="xs">
        <Group gap="md">
          {(Object.keys(words) as StatusDay["status"][]).map((status) => (
            <Group key={status} gap={5}>
              <span className={classes.key} data-status={status} />
              <Text size="xs" c="dimmed">
                {words[status]}
              </Text>
            </Group>
          ))}
        </Group>
        <Button
          variant="subtle"
          size="compact-xs"
          leftSection={<Icon name={asTable ? "activity" : "rows"} size={12} />}
          onClick={() => setAsTable(!asTable)}
        >
          {asTable ? "View as chart" : "View as table"}
        </Button>
      </Group>
    </div>
  );
}

/** A day in words. */
export function dayText(day: StatusDay): string {
  if (day.status === "unused") {
    return "no calls";
  }
  const hours = day.failing_hours > 0 ? `, ${plural(day.failing_hours, "hour")} with failures` : "";
  return `${words[day.status]}, ${formatPercent(day.failed_percent)} of ${plural(day.calls, "call")} failed${hours}`;
}

function DayTable({ days }: { days: StatusDay[] }) {
  return (
    <div className={classes.table} role="region" aria-label="Status table" tabIndex={0}>
      <Table fz="sm" aria-label="Status by day">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Day</Table.Th>
            <Table.Th>Status</Table.Th>
            {["Calls", "Failed", "Failed %", "Hours with failures"].map((head) => (
              <Table.Th key={head} ta="right">
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {[...days].reverse().map((day) => (
            <Table.Tr key={day.start}>
              <Table.Td>
                <Time at={day.start} as="day" />
              </Table.Td>
              <Table.Td>{words[day.status]}</Table.Td>
              <Table.Td ta="right">{formatCount(day.calls)}</Table.Td>
              <Table.Td ta="right">{formatCount(day.failed)}</Table.Td>
              <Table.Td ta="right">{formatPercent(day.failed_percent)}</Table.Td>
              <Table.Td ta="right">{formatCount(day.failing_hours)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
