import { Affix, Button, CloseButton, Group, Paper, Text } from "@mantine/core";

import { PageLink } from "../../components/PageLink";

/** Offers the comparison of the selected requests. */
export function CompareBar({ picked, onClear }: { picked: string[]; onClear: () => void }) {
  const [a, b] = picked;
  if (!a) {
    return null;
  }
  return (
    <Affix position={{ bottom: 16, left: "50%" }} style={{ transform: "translateX(-50%)" }}>
      <Paper withBorder shadow="md" px="sm" py={6} role="region" aria-label="Selected requests">
        <Group gap="sm" wrap="nowrap">
          <Text size="sm">{b ? "2 requests selected" : "Select another request to compare"}</Text>
          {b && (
            <Button size="xs" component={PageLink} to="/requests/compare" search={{ a, b }}>
              Compare
            </Button>
          )}
          <CloseButton size="sm" aria-label="Clear selection" onClick={onClear} />
        </Group>
      </Paper>
    </Affix>
  );
}
