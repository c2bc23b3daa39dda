import { Button, Popover, Stack, Text, Tooltip } from "@mantine/core";

import { CodeBlock } from "../../components/CodeBlock";
import { Icon } from "../../components/Icon";
import { Money } from "../../components/Money";
import { bestPrice, formatPrice, type Model, priceSnippet } from "./models";

/** What a million tokens of one kind cost; "from" where providers differ. */
export function PriceCell({ model, of }: { model: Model; of: "input" | "output" | "cache_read" }) {
  const best = bestPrice(model.targets);
  if (!best) {
    return <Money amount={null} why="The price of this model is not known." />;
  }
  const amount = best.price[`${of}_per_mtok_usd`];
  if (of === "output" && model.kind === "embeddings") {
    return <Money amount={null} why="Embeddings have no output tokens." />;
  }
  if (amount == null) {
    return <Money amount={null} why="No discount: cached tokens cost as much as fresh ones." />;
  }
  return (
    <>
      {best.differs && of === "input" && (
        <Text span size="xs" c="dimmed">
          from{" "}
        </Text>
      )}
      <Tooltip label={`$${amount} per million tokens`}>
        <span>{formatPrice(amount)}</span>
      </Tooltip>
    </>
  );
}

/** Warns that a model has no price, and says how to set one. */
export function PriceMissing({ model: { name, targets } }: { model: Model }) {
  return (
    <Popover width={420} shadow="md" trapFocus withArrow position="bottom-start">
      <Popover.Target>
        <Button
          size="compact-xs"
          variant="outline"
          color="orange"
          leftSection={<Icon name="alert" size={12} />}
        >
          Set price
        </Button>
      </Popover.Target>
      <Popover.Dropdown style={{ whiteSpace: "normal" }}>
        <Stack gap="xs">
          <Text size="sm">
            The price of <strong>{name}</strong> is not known, so <em>auto</em> never chooses it and its cost
            is not counted. Add its price where the configuration file lists the model; it takes effect
            without a restart.
          </Text>
          <CodeBlock text={priceSnippet(name, targets[0]?.provider ?? "")} />
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
