import { Alert, Anchor, Button, Group, ScrollArea, Stack, Table, Text } from "@mantine/core";

import { Icon } from "../../components/Icon";
import { PageLink } from "../../components/PageLink";
import { formatDuration, plural } from "../../lib/numbers";
import { formatListPrice } from "../models/models";
import { type Connection, foundText, unpricedText } from "./connect";

// Models that are listed; the rest is counted.
const maxListed = 50;

/** The result of the test call. The provider is already active. */
export function ConnectResult({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const { provider, test, found } = connection;
  const unpriced = unpricedText(connection);
  return (
    <Stack gap="sm">
      <Alert
        color="green"
        variant="outline"
        role="status"
        icon={<Icon name="check" size={18} />}
        title={`${provider.title} is live`}
      >
        <Text size="sm">
          {test?.ok && test.latency_ms != null && `Test passed in ${formatDuration(test.latency_ms)}. `}
          {foundText(connection)} Requests can use this provider now.
        </Text>
      </Alert>
      {found.length > 0 && (
        <ScrollArea.Autosize
          mah={280}
          type="auto"
          viewportProps={{ tabIndex: 0, "aria-label": "Models found" }}
        >
          <Table aria-label="Models found" stickyHeader>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Model</Table.Th>
                <Table.Th ta="right">Input / 1M tokens</Table.Th>
                <Table.Th ta="right">Output / 1M tokens</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.slice(0, maxListed).map(({ model, price }) => (
                <Table.Tr key={model}>
                  <Table.Td style={{ overflowWrap: "anywhere" }}>{model}</Table.Td>
                  <Table.Td ta="right" ff="monospace">
                    {price ? formatListPrice(price.input_per_mtok_usd) : "—"}
                  </Table.Td>
                  <Table.Td ta="right" ff="monospace">
                    {price ? formatListPrice(price.output_per_mtok_usd) : "—"}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          {found.length > maxListed && (
            <Text size="xs" c="dimmed" mt={4}>
              and {plural(found.length - maxListed, "more model")}
            </Text>
          )}
        </ScrollArea.Autosize>
      )}
      {unpriced && (
        <Text size="sm">
          {unpriced}{" "}
          <Anchor component={PageLink} to="/routing/models" inherit>
            Set prices
          </Anchor>
        </Text>
      )}
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          Done
        </Button>
      </Group>
    </Stack>
  );
}
