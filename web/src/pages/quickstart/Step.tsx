import { Group, Paper, Text, ThemeIcon, Title } from "@mantine/core";
import type { ReactNode } from "react";

import { Icon } from "../../components/Icon";

interface StepProps {
  done: boolean;
  number: number;
  title: string;
  children?: ReactNode;
}

/** A numbered step of the quickstart with its state. */
export function Step({ done, number, title, children }: StepProps) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Group gap="sm" mb={children ? "xs" : 0}>
        <ThemeIcon
          radius="xl"
          size={28}
          color={done ? "green" : "gray"}
          variant={done ? "filled" : "default"}
          aria-hidden
        >
          {done ? <Icon name="check" /> : number}
        </ThemeIcon>
        <Title order={2} size="h3">
          {title}
        </Title>
        <Text size="xs" c="dimmed" role="status">
          {done ? "Done" : "Waiting"}
        </Text>
      </Group>
      {children}
    </Paper>
  );
}
