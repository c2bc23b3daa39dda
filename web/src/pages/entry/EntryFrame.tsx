import { Container, Group, Paper, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";

/** Layout of the pages outside of the shell. */
export function EntryFrame({
  title,
  lead,
  children,
}: {
  title: string;
  lead?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Fairlead`;
  }, [title]);
  return (
    <Container size={440} pt={{ base: 32, sm: 88 }} pb="xl" component="main">
      <Group gap="xs" mb="lg" justify="center">
        <img src="/favicon.svg" alt="" width={32} height={32} />
        <Text fw={700} size="xl">
          Fairlead
        </Text>
      </Group>
      <Paper withBorder p="lg" radius="md">
        <Title order={1} mb={4}>
          {title}
        </Title>
        {lead && (
          <Text size="sm" c="dimmed" mb="md">
            {lead}
          </Text>
        )}
        {children}
      </Paper>
    </Container>
  );
}
