import { Text, Tooltip } from "@mantine/core";

import { formatMoney, formatPaid } from "../lib/money";

interface Props {
  /** Dollars as a decimal string; null when unknown. */
  amount: string | null | undefined;
  /** Shown on hover when the amount is unknown. */
  why?: string;
  /** A price or cost, of which zero reads "free". */
  paid?: boolean;
}

/** An amount of money: exact on hover, never nought when it is not, a dash with the reason when unknown. */
export function Money({ amount, why = "The cost is unknown: the model has no price.", paid }: Props) {
  const text = paid ? formatPaid(amount) : formatMoney(amount);
  return (
    <Tooltip label={amount == null ? why : `$${amount}`}>
      <Text
        span
        inherit
        ff="monospace"
        style={{ whiteSpace: "nowrap" }}
        c={amount == null ? "dimmed" : undefined}
        tabIndex={amount == null ? 0 : undefined}
      >
        {text}
      </Text>
    </Tooltip>
  );
}
