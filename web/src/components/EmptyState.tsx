import { Group, Stack, Text, ThemeIcon } from "@mantine/core";
import type { ReactNode } from "react";

import { Icon, type IconName } from "./Icon";

interface Props {
  icon?: IconName;
  title: string;
  /** The reason for the missing content, and the next step. */
  children?: ReactNode;
  /** Buttons for the next step. */
  actions?: ReactNode;
}

/** Explains missing content and offers the next step. */
export function EmptyState({ icon = "search", title, children, actions }: Props) {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" ta="center">
      <ThemeIcon variant="default" size={44} radius="xl" bd="none" c="dimmed">
        <Icon name={icon} size={24} />
      </ThemeIcon>
      <Text fw={600}>{title}</Text>
      {children && (
        <Text c="dimmed" size="sm" maw={480}>
          {children}
        </Text>
      )}
      {actions && <Group mt="xs">{actions}</Group>}
    </Stack>
  );
}
