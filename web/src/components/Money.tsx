import { Text, Tooltip } from "@mantine/core";

import { formatMoney, formatPrice } from "../lib/money";

interface Props {
  /** Dollars as a decimal string; null when unknown. */
  amount: string | null | undefined;
  /** Shown on hover when the amount is unknown. */
  why?: string;
  /** Whether the amount is a price or cost, where zero reads "free". */
  paid?: boolean;
}

/** An amount of money, exact on hover. An unknown amount is a dash with the reason. */
export function Money({ amount, why = "Unknown cost: this model has no price.", paid }: Props) {
  const text = paid ? formatPrice(amount) : formatMoney(amount);
  return (
    <Tooltip label={amount == null ? why : `$${amount}`}>
      <Text
        span
        inherit
        style={{ whiteSpace: "nowrap", fontVariantNumeric: "tabular-nums" }}
        c={amount == null ? "dimmed" : undefined}
        tabIndex={amount == null ? 0 : undefined}
      >
        {text}
      </Text>
    </Tooltip>
  );
}
