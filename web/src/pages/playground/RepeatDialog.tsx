import { Alert, Button, Group, Modal, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { api, must } from "../../api/client";
import { Icon } from "../../components/Icon";
import { Money } from "../../components/Money";
import { sumMoney } from "../../lib/money";
import { plural } from "../../lib/numbers";
import { timesAmount } from "./spread";

/** Requests that wait for a confirmation. */
export interface Planned {
  columns: { label: string; body: object }[];
  repeats: number;
}

interface Props {
  /** Undefined while closed. */
  planned: Planned | undefined;
  onRun: () => void;
  onClose: () => void;
}

/** Shows the estimated cost of repeated requests before they are sent. */
export function RepeatDialog({ planned, onRun, onClose }: Props) {
  const count = (planned?.columns.length ?? 0) * (planned?.repeats ?? 0);
  return (
    <Modal opened={planned !== undefined} onClose={onClose} title={`Send ${plural(count, "request")}?`}>
      {planned && (
        <Stack gap="sm">
          <Estimate planned={planned} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button onClick={onRun} data-autofocus>
              Send {plural(count, "request")}
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

function Estimate({ planned }: { planned: Planned }) {
  const estimate = useQuery({
    queryKey: ["playground-estimate", planned.columns.map((column) => column.body)],
    queryFn: () => Promise.all(planned.columns.map((column) => expectedCost(column.body))),
    staleTime: 60_000,
  });
  const costs = planned.columns.map((_, i) => timesAmount(estimate.data?.[i] ?? null, planned.repeats));
  const known = costs.filter((cost) => cost !== null);
  const why = estimate.isPending ? "The estimate is loading." : "Unknown: the model has no price.";
  return (
    <>
      <Table fz="sm" aria-label="Estimated cost">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Model</Table.Th>
            <Table.Th ta="right">Requests</Table.Th>
            <Table.Th ta="right">Estimated cost</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {planned.columns.map(({ label }, i) => (
            <Table.Tr key={i}>
              <Table.Th scope="row">{label}</Table.Th>
              <Table.Td ta="right" ff="monospace">
                {planned.repeats}
              </Table.Td>
              <Table.Td ta="right">
                <Money amount={costs[i]} why={why} paid />
              </Table.Td>
            </Table.Tr>
          ))}
          <Table.Tr fw={600}>
            <Table.Th scope="row">Total</Table.Th>
            <Table.Td ta="right" ff="monospace">
              {planned.columns.length * planned.repeats}
            </Table.Td>
            <Table.Td ta="right">
              <Money amount={known.length === costs.length ? sumMoney(known) : null} why={why} paid />
            </Table.Td>
          </Table.Tr>
        </Table.Tbody>
      </Table>
      {estimate.error && (
        <Alert color="yellow" variant="outline" py={6} icon={<Icon name="alert" size={16} />}>
          The cost could not be estimated.
        </Alert>
      )}
      <Text size="xs" c="dimmed">
        Estimated from the prompt and the usual length of responses. Longer responses cost more. You can stop
        at any time; responses received so far are charged.
      </Text>
    </>
  );
}

/** The expected cost of one request at the model that the router chooses; null if it is unknown. No provider is called. */
async function expectedCost(body: object): Promise<string | null> {
  const { decision } = await must(
    api.POST("/routing/explain", { body: { endpoint: "chat/completions", request: body as never } }),
  );
  return decision?.candidates?.find((c) => c.rank === 1)?.expected_cost_usd ?? null;
}
