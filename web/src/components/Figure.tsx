import { Paper, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  label: string;
  value: ReactNode;
  /** Details in small print. */
  children?: ReactNode;
}

/** A value with its label above and details below. */
export function Figure({ label, value, children }: Props) {
  return (
    <Paper withBorder p="sm" role="group" aria-label={label}>
      <Text size="xs" c="dimmed" fw={600}>
        {label}
      </Text>
      <Text fw={600} truncate title={typeof value === "string" ? value : undefined}>
        {value}
      </Text>
      <Text size="xs" c="dimmed" component="div">
        {children}
      </Text>
    </Paper>
  );
}
