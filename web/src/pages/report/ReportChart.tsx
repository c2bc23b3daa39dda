import { Group, Paper, Text, Title } from "@mantine/core";

import { amountOf, dimensionLabel, measures, measureText, type Report, valueLabel } from "./report";
import classes from "./report.module.css";

/** Maximum number of bars. The table has the other groups. */
const maxBars = 12;

/** Maximum number of segments in a bar. Smaller segments are combined into one. */
const maxSegments = 5;

interface Segment {
  label: string;
  amount: number;
}

/** One bar for each of the top groups, divided into segments by the second dimension. */
export function ReportChart({ report }: { report: Report }) {
  const { measure } = report;
  const title = `${measures.find(({ value }) => value === measure)?.label ?? ""} by ${dimensionLabel(report.by).toLowerCase()}`;
  const bars = report.groups.slice(0, maxBars);
  const largest = Math.max(...bars.map((group) => Math.abs(amountOf(measure, group))), 0);
  if (largest === 0) {
    return null;
  }
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h3">
          {title}
        </Title>
        {measure === "latency" && (
          <Text size="xs" c="dimmed">
            95th percentile
          </Text>
        )}
      </Group>
      <div className={classes.bars}>
        {bars.map((group) => {
          const amount = amountOf(measure, group);
          const label = valueLabel(report.by, group);
          return (
            <div key={group.value} className={classes.bar}>
              <Text size="sm" truncate title={label}>
                {label}
              </Text>
              <svg
                className={classes.track}
                viewBox="0 0 100 10"
                preserveAspectRatio="none"
                role="img"
                aria-label={`${label}: ${measureText(measure, group)}`}
              >
                {segments(report, group).map((segment, i, all) => {
                  const before = all.slice(0, i).reduce((sum, { amount: a }) => sum + Math.abs(a), 0);
                  return (
                    <rect
                      key={segment.label}
                      x={(100 * before) / largest}
                      width={(100 * Math.abs(segment.amount)) / largest}
                      height={10}
                      className={amount < 0 ? classes.negative : classes.segment}
                      data-n={i}
                    >
                      <title>{segment.label}</title>
                    </rect>
                  );
                })}
              </svg>
              <Text size="sm" ff="monospace" ta="right">
                {measureText(measure, group)}
              </Text>
            </div>
          );
        })}
      </div>
      {report.groups.length > maxBars && (
        <Text size="xs" c="dimmed" mt={6}>
          The chart shows the first {maxBars} groups. The table shows all of them.
        </Text>
      )}
    </Paper>
  );
}

/** The segments of a bar. Latencies and negative amounts cannot be stacked. */
function segments(report: Report, group: Report["groups"][number]): Segment[] {
  const { measure } = report;
  const whole = amountOf(measure, group);
  const parts = group.groups
    .map((inner) => ({ label: valueLabel(report.then, inner), amount: amountOf(measure, inner) }))
    .slice(0, maxSegments);
  if (measure === "latency" || whole < 0 || parts.length === 0 || parts.some(({ amount }) => amount < 0)) {
    return [{ label: valueLabel(report.by, group), amount: whole }];
  }
  const rest = whole - parts.reduce((sum, { amount }) => sum + amount, 0);
  return rest > whole * 1e-9 ? [...parts, { label: "Other values", amount: rest }] : parts;
}
