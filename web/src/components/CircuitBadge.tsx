import { Group, Stack, Text, Tooltip } from "@mantine/core";

import { plural } from "../lib/numbers";
import { useNow } from "../lib/useNow";
import { StateBadge } from "./badges";
import type { IconName } from "./Icon";

/** State of a circuit breaker: closed lets calls through, open blocks them, half-open lets a probe through. */
export type Circuit = "closed" | "half_open" | "open";

const looks: Record<Circuit, { icon: IconName; colour: string; word: string }> = {
  closed: { icon: "check", colour: "green", word: "Healthy" },
  half_open: { icon: "activity", colour: "orange", word: "Retrying" },
  open: { icon: "ban", colour: "red", word: "Paused" },
};

interface Props {
  circuit: Circuit;
  /** Why the circuit is not closed. */
  reason?: string | null;
  /** Time of the next probe. */
  nextProbe?: string | null;
  /** Number of the model's circuits in this state, and in total. */
  part?: { of: number; count: number };
}

/** The state of a circuit with its reason and the time until the next probe. */
export function CircuitBadge({ circuit, reason, nextProbe, part }: Props) {
  const badge = <StateBadge look={looks[circuit]} />;
  if (circuit === "closed") {
    return badge;
  }
  const some = part && part.count < part.of && `${part.count} of ${plural(part.of, "target")}`;
  return (
    <Tooltip
      label={
        <Stack gap={0}>
          {reason && <span>{reason}</span>}
          {some && <span>{some}</span>}
          {!reason && !some && <span>Recent calls failed.</span>}
        </Stack>
      }
    >
      <Group gap={6} wrap="nowrap" display="inline-flex" tabIndex={0}>
        {badge}
        {nextProbe && <Countdown until={nextProbe} />}
      </Group>
    </Tooltip>
  );
}

/** A countdown in seconds. */
export function Countdown({ until, what = "retry" }: { until: string; what?: string }) {
  const now = useNow();
  return (
    <Text span size="xs" c="dimmed" style={{ fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" }}>
      {countdownText(Date.parse(until) - now, what)}
    </Text>
  );
}

/** Formats the remaining time: "retry in 12 s", "retry in 3 min", "retrying soon". */
export function countdownText(ms: number, what: string): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds <= 0) {
    return what === "retry" ? "retrying soon" : `${what} soon`;
  }
  if (seconds < 120) {
    return `${what} in ${seconds} s`;
  }
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${what} in ${minutes} min` : `${what} in ${Math.round(minutes / 60)} h`;
}
