import type { Schema } from "../../../api/client";
import { formatMoney } from "../../../lib/money";
import { formatPercent } from "../../../lib/numbers";

/** Describes the checks of a response: the models in order, and the expected cost that decided the order. */
export function CascadeRemark({ cascade }: { cascade: Schema["Cascade"] }) {
  const [first, second] = cascade.steps ?? [];
  if (!first || !second) {
    return (
      <>
        The policy <strong>{cascade.policy}</strong> checks responses.{" "}
        <strong>{cascade.skipped?.target}</strong> is skipped, because its expected failures cost more than it
        saves.
      </>
    );
  }
  return (
    <>
      Checked by the policy <strong>{cascade.policy}</strong> ({cascade.checks?.join(", ")}):{" "}
      <strong>{first.target}</strong> first, which fails with a probability of{" "}
      {formatPercent(first.failure_probability * 100)}, then <strong>{second.target}</strong>. Expected cost{" "}
      {formatMoney(cascade.expected_cost_usd)}, {formatMoney(cascade.second_alone_usd)} with the second alone.
    </>
  );
}
