import { Badge, Button, Group, Popover, ScrollArea, Table, Text } from "@mantine/core";

import { CircuitBadge } from "../../components/CircuitBadge";
import { Icon } from "../../components/Icon";
import { Money } from "../../components/Money";
import { formatCount, formatDuration, formatPercent } from "../../lib/numbers";
import { formatAge } from "../../lib/time";
import type { Model, Target } from "./models";
import type { Pricing } from "./PriceDialog";

/** The providers of a model. A click shows the price and health of each target. */
export function TargetList({ model, onPrice }: { model: Model; onPrice?: (pricing: Pricing) => void }) {
  const names = [...new Set(model.targets.map((t) => t.provider))];
  if (names.length === 0) {
    return (
      <Text span size="xs" c="dimmed">
        none
      </Text>
    );
  }
  const shown = names.length > 1 ? `${names[0]} +${names.length - 1}` : names[0];
  return (
    <Popover shadow="md" withArrow position="bottom-start" trapFocus width="max-content">
      <Popover.Target>
        <Button
          size="compact-xs"
          variant="default"
          fw={400}
          rightSection={<Icon name="chevronDown" size={11} />}
          aria-label={`${shown}, providers of ${model.name}`}
        >
          {shown}
        </Button>
      </Popover.Target>
      <Popover.Dropdown maw="calc(100vw - 24px)">
        <ScrollArea.Autosize mah={360} type="auto">
          <Targets model={model} onPrice={onPrice} />
        </ScrollArea.Autosize>
      </Popover.Dropdown>
    </Popover>
  );
}

function Targets({ model, onPrice }: { model: Model; onPrice?: (pricing: Pricing) => void }) {
  return (
    <Table verticalSpacing={4} fz="xs" aria-label={`Targets for ${model.name}`}>
      <Table.Thead>
        <Table.Tr>
          {[
            "Provider",
            "Upstream name",
            "Input",
            "Output",
            "TTFT",
            "Tokens / s",
            "Calls",
            "Errors",
            "Health",
          ].map((head) => (
            <Table.Th key={head} scope="col">
              {head}
            </Table.Th>
          ))}
          {onPrice && <Table.Td />}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {model.targets.map((target) => (
          <TargetRow
            key={target.target}
            target={target}
            onPrice={onPrice && (() => onPrice({ model, provider: target.provider }))}
          />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function TargetRow({ target, onPrice }: { target: Target; onPrice?: () => void }) {
  const { price, health } = target;
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          {target.provider}
          {target.collects && (
            <Badge
              size="xs"
              color="orange"
              radius="sm"
              title="The provider may store prompts or train on them."
            >
              data collection
            </Badge>
          )}
          {target.listed_until && (
            <Badge
              size="xs"
              color="orange"
              radius="sm"
              title={`The provider no longer lists this model. Last listed ${formatAge(target.listed_until)}.`}
            >
              not listed
            </Badge>
          )}
        </Group>
      </Table.Td>
      <Table.Td>{target.upstream}</Table.Td>
      <Table.Td ta="right">
        <Money amount={price?.input_per_mtok_usd} why="No price set." paid />
      </Table.Td>
      <Table.Td ta="right">
        <Money amount={price?.output_per_mtok_usd} why="No price set." paid />
      </Table.Td>
      <Table.Td ta="right">{formatDuration(health.ttft_ms)}</Table.Td>
      <Table.Td ta="right">{formatCount(health.tokens_per_second)}</Table.Td>
      <Table.Td ta="right">{formatCount(health.calls)}</Table.Td>
      <Table.Td ta="right">{formatPercent(health.error_percent)}</Table.Td>
      <Table.Td>
        <CircuitBadge circuit={health.circuit} reason={health.reason_text} nextProbe={health.next_probe} />
      </Table.Td>
      {onPrice && (
        <Table.Td>
          <Button
            size="compact-xs"
            variant="default"
            onClick={onPrice}
            aria-label={`${target.price ? "Change" : "Set"} price at ${target.provider}`}
          >
            {target.price ? "Change price" : "Set price"}
          </Button>
        </Table.Td>
      )}
    </Table.Tr>
  );
}
