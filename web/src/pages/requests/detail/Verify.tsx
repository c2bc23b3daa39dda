import { Button, Group, List, Stack, Table, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import type { Schema } from "../../../api/client";
import { verifyRequest } from "../../../api/routing";
import { ErrorPanel } from "../../../components/ErrorPanel";
import { Icon } from "../../../components/Icon";

/** Re-runs a logged decision and reports differences. */
export function Verify({ id }: { id: string }) {
  const verify = useMutation({ mutationFn: () => verifyRequest(id) });
  return (
    <Stack gap="xs" mt="md">
      <Group gap="sm">
        <Button
          size="xs"
          variant="default"
          leftSection={<Icon name="refresh" size={14} />}
          loading={verify.isPending}
          onClick={() => verify.mutate()}
        >
          Verify
        </Button>
        <Text size="xs" c="dimmed">
          Re-runs this decision with the models, prices and policies that were active at the time. No request
          is sent.
        </Text>
      </Group>
      <div role="status">{verify.data && <Result verification={verify.data} />}</div>
      {verify.error && (
        <ErrorPanel
          what="Could not verify the decision"
          error={verify.error}
          onRetry={() => verify.mutate()}
        />
      )}
    </Stack>
  );
}

/** The result of a verification. */
export function Result({ verification: v }: { verification: Schema["Verification"] }) {
  if (v.same) {
    return (
      <Group gap={6}>
        <Icon name="check" size={16} />
        <Text size="sm">Verified: the decision was reproduced.</Text>
      </Group>
    );
  }
  return (
    <Stack gap="xs">
      <Group gap={6}>
        <Icon name="alert" size={16} />
        <Text size="sm">
          {v.recomputed ? "Mismatch: the re-run gave a different result." : "This decision cannot be re-run."}
        </Text>
      </Group>
      {v.missing.length > 0 && (
        <List size="sm">
          {v.missing.map((sentence) => (
            <List.Item key={sentence}>{sentence}</List.Item>
          ))}
        </List>
      )}
      {v.differences.length > 0 && (
        <Table fz="sm" aria-label="Differences">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Field</Table.Th>
              <Table.Th>Logged</Table.Th>
              <Table.Th>Re-run</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {v.differences.map((d) => (
              <Table.Tr key={d.what}>
                <Table.Td>{d.what}</Table.Td>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{d.logged}</Table.Td>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{d.recomputed}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Stack>
  );
}
