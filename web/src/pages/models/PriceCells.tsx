import { Button, Text, Tooltip } from "@mantine/core";

import { StateBadge } from "../../components/badges";
import { Icon } from "../../components/Icon";
import { Money } from "../../components/Money";
import { priceOrigin } from "../../lib/prices";
import { bestPrice, formatListPrice, type Model, type Price, type Row } from "./models";
import type { Pricing } from "./PriceDialog";

/** The price per million tokens of one class; "from" if providers differ. */
export function PriceCell({ model, of }: { model: Row; of: "input" | "output" | "cache_read" }) {
  if (model.targets.length === 0) {
    const listed =
      model.kind === "embeddings" && of === "output" ? null : model.market?.price?.[`${of}_per_mtok_usd`];
    return listed == null ? "—" : <span title="List price">{formatListPrice(listed)}</span>;
  }
  const best = bestPrice(model.targets);
  if (!best) {
    return <Money amount={null} why="No price set." />;
  }
  const amount = best.price[`${of}_per_mtok_usd`];
  if (of === "output" && model.kind === "embeddings") {
    return <Money amount={null} why="Embeddings have no output tokens." />;
  }
  if (amount == null) {
    return <Money amount={null} why="No discount for cached input." />;
  }
  return (
    <>
      {best.differs && of === "input" && (
        <Text span size="xs" c="dimmed">
          from{" "}
        </Text>
      )}
      <Tooltip label={<PriceDetail amount={amount} price={best.price} />}>
        <span>{formatListPrice(amount)}</span>
      </Tooltip>
    </>
  );
}

function PriceDetail({ amount, price }: { amount: string; price: Price }) {
  const { word, detail } = priceOrigin(price);
  return (
    <>
      <div>${amount} per million tokens</div>
      <div>
        {word}
        {price.as_of && ` as of ${price.as_of}`}
      </div>
      <div>{detail}</div>
    </>
  );
}

/** Warns that a model has no price and offers to set one. */
export function PriceMissing({ model, onPrice }: { model: Model; onPrice?: (pricing: Pricing) => void }) {
  if (!onPrice) {
    return <StateBadge look={{ icon: "alert", colour: "orange", word: "no price" }} />;
  }
  return (
    <Tooltip label="No price: auto never chooses this model, and its cost is unknown.">
      <Button
        size="compact-xs"
        variant="outline"
        color="orange"
        leftSection={<Icon name="alert" size={12} />}
        onClick={() => onPrice({ model, provider: model.targets[0]?.provider ?? "" })}
      >
        Set price
      </Button>
    </Tooltip>
  );
}
