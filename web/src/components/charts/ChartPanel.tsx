import { Button, Group, Paper, Text, Title } from "@mantine/core";
import { type ReactNode, Suspense, useState } from "react";

import { Icon } from "../Icon";
import { PanelSkeleton } from "../Loading";
import classes from "./charts.module.css";

/** The height of every chart, in pixels. */
export const chartHeight = 230;

interface Props {
  title: string;
  /** Legend of patterns and lines. */
  legend: ReactNode;
  chart: ReactNode;
  /** The same data as a table. */
  table: ReactNode;
  note?: ReactNode;
  /** Controls beside the table button, such as a switch to percent. */
  actions?: ReactNode;
}

/** A chart with heading and legend that can also be shown as a table. */
export function ChartPanel({ title, legend, chart, table, note, actions }: Props) {
  const [asTable, setAsTable] = useState(false);
  return (
    <Paper withBorder p="md" component="section" aria-label={title} className={classes.chart}>
      <Group justify="space-between" mb={4} gap="xs" wrap="nowrap">
        <Title order={2} size="h3">
          {title}
        </Title>
        <Group gap={4} wrap="nowrap" style={{ flexShrink: 0 }}>
          {!asTable && actions}
          <Button
            variant="subtle"
            size="compact-xs"
            leftSection={<Icon name={asTable ? "activity" : "rows"} size={12} />}
            aria-label={asTable ? `View as chart: ${title}` : `View as table: ${title}`}
            onClick={() => setAsTable(!asTable)}
          >
            {asTable ? "View as chart" : "View as table"}
          </Button>
        </Group>
      </Group>
      {!asTable && legend}
      {asTable ? (
        <div className={classes.table} tabIndex={0} role="region" aria-label={`${title}, table`}>
          {table}
        </div>
      ) : (
        <Suspense fallback={<PanelSkeleton height={chartHeight} />}>{chart}</Suspense>
      )}
      {note && (
        <Text size="xs" c="dimmed" mt={6}>
          {note}
        </Text>
      )}
    </Paper>
  );
}
