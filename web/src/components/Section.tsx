import { Box, Group, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  title: string;
  id?: string;
  /** Controls at the right of the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A section of a page with its heading. */
export function Section({ title, id, actions, children }: Props) {
  return (
    <Box component="section" id={id} aria-label={title} mb="xl" style={{ scrollMarginTop: 70 }}>
      <Group justify="space-between" mb="xs" gap="xs">
        <Title order={2} size="h3">
          {title}
        </Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Box>
  );
}
