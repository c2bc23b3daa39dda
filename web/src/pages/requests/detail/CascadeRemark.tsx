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
      The policy <strong>{cascade.policy}</strong> checks responses ({cascade.checks?.join(", ")}).{" "}
      <strong>{first.target}</strong> is tried first and fails the checks with a probability of{" "}
      {formatPercent(first.failure_probability * 100)}; then <strong>{second.target}</strong> is tried.
      Expected cost: {formatMoney(cascade.expected_cost_usd)}, compared with{" "}
      {formatMoney(cascade.second_alone_usd)} for the second model alone.
    </>
  );
}
