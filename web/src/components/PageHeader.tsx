import { Box, Group, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";

interface Props {
  title: string;
  description?: ReactNode;
  actions?: ReactNode;
}

/** Heading of a page. Also sets the document title. */
export function PageHeader({ title, description, actions }: Props) {
  useEffect(() => {
    document.title = `${title} · Fairlead`;
  }, [title]);
  return (
    <Group justify="space-between" align="flex-start" mb="md" gap="sm">
      <Box flex="1 1 320px" miw={0}>
        <Title order={1}>{title}</Title>
        {description && (
          <Text c="dimmed" size="sm">
            {description}
          </Text>
        )}
      </Box>
      {actions && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}
