import { Anchor, Badge, SimpleGrid, Table, Text, Title } from "@mantine/core";

import type { Schema } from "../../api/client";
import { PageLink } from "../../components/PageLink";
import { formatQuality } from "../../lib/numbers";
import type { ModelDetail } from "./ModelPage";
import { abilityText, formatListPrice } from "./models";
import classes from "./scatter.module.css";

type Alternative = Schema["AlternativeView"];

/** Models that are as good and cheaper, and models that are better at a similar price. */
export function Alternatives({ model }: { model: ModelDetail }) {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <List
        title="Similar quality, cheaper"
        list={model.cheaper}
        none="No cheaper model of similar quality."
      />
      <List title="Better, similar price" list={model.better} none="No better model at a similar price." />
    </SimpleGrid>
  );
}

function List({ title, list, none }: { title: string; list: Alternative[]; none: string }) {
  return (
    <div>
      <Title order={3} fz="sm" mb={4}>
        {title}
      </Title>
      {list.length === 0 ? (
        <Text size="sm" c="dimmed">
          {none}
        </Text>
      ) : (
        <div className={classes.scroll} role="region" aria-label={`${title}, table`} tabIndex={0}>
          <Table fz="sm" aria-label={title}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Model</Table.Th>
                <Table.Th ta="right">Quality</Table.Th>
                <Table.Th ta="right">Price</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {list.map((a) => (
                <Table.Tr key={a.name}>
                  <Table.Td>
                    <Anchor inherit component={PageLink} to="/models/$name" params={{ name: a.name }}>
                      {a.name}
                    </Anchor>{" "}
                    {!a.connected && (
                      <Badge size="xs" color="gray" radius="sm">
                        not connected
                      </Badge>
                    )}
                    {a.lacks.length > 0 && (
                      <Text size="xs" c="dimmed">
                        Without {a.lacks.map(abilityText).join(", ")}
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td ta="right" ff="monospace">
                    {formatQuality(a.quality.mean)}
                  </Table.Td>
                  <Table.Td ta="right">
                    {formatListPrice(a.price.typical_per_mtok_usd)}
                    <Text size="xs" c="dimmed">
                      {changeText(a.price_change_percent)}
                    </Text>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </div>
  );
}

function changeText(percent: number): string {
  if (Math.abs(percent) < 0.5) {
    return "same price";
  }
  return `${percent < 0 ? "−" : "+"}${Math.abs(Math.round(percent))} %`;
}
