import { Box, Group, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";

interface Props {
  title: string;
  description?: ReactNode;
  actions?: ReactNode;
  /** Whether to show the description beside the title, to save height. */
  compact?: boolean;
}

/** Heading of a page. Also sets the document title. */
export function PageHeader({ title, description, actions, compact }: Props) {
  useEffect(() => {
    document.title = `${title} · Fairlead`;
  }, [title]);
  return (
    <Group
      justify="space-between"
      align={compact ? "center" : "flex-start"}
      mb={compact ? 8 : "md"}
      gap={compact ? "xs" : "sm"}
    >
      <Box
        flex="1 1 320px"
        miw={0}
        {...(compact
          ? { display: "flex", style: { alignItems: "baseline", columnGap: 10, flexWrap: "wrap" } }
          : {})}
      >
        <Title order={1}>{title}</Title>
        {description && (
          <Text c="dimmed" size="sm" component="div" style={{ overflowWrap: "anywhere" }}>
            {description}
          </Text>
        )}
      </Box>
      {actions && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}
