import { Anchor, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { Money } from "../../components/Money";

/** Number of candidates listed by default. */
const maxListed = 4;

/** The ranked candidates with their predicted quality, and the number of excluded ones. */
export function CandidateList({ trace, served }: { trace: Schema["Decision"]; served?: string }) {
  const [all, setAll] = useState(false);
  const ranked = trace.candidates.filter((c) => !c.excluded);
  const excluded = trace.candidates.filter((c) => c.excluded);
  const shown = all ? ranked : ranked.slice(0, maxListed);
  if (trace.candidates.length === 0) {
    return null;
  }
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600}>
        Candidates
      </Text>
      <Table fz="xs" aria-label="Candidates" verticalSpacing={3} horizontalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Candidate</Table.Th>
            <Table.Th ta="right">Predicted quality</Table.Th>
            <Table.Th ta="right">Expected cost</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shown.map((c) => (
            <Table.Tr key={c.target} fw={c.model === served ? 700 : undefined}>
              <Table.Td>{c.target}</Table.Td>
              <Table.Td ta="right" ff="monospace">
                {c.quality.toFixed(2)}
              </Table.Td>
              <Table.Td ta="right">
                <Money amount={c.expected_cost_usd} paid />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="xs" c="dimmed">
        {ranked.length > maxListed && (
          <Anchor component="button" type="button" size="xs" onClick={() => setAll(!all)}>
            {all ? "Show fewer" : `Show all ${ranked.length}`}
          </Anchor>
        )}
        {ranked.length > maxListed && excluded.length > 0 && " · "}
        {excluded.length > 0 && `${excluded.length} excluded: ${reasons(excluded)}`}
      </Text>
    </Stack>
  );
}

function reasons(excluded: Schema["Candidate"][]): string {
  const distinct = new Set(excluded.map((c) => c.excluded?.reason ?? ""));
  const list = [...distinct].slice(0, 3).join("; ");
  return distinct.size > 3 ? `${list} …` : list;
}
