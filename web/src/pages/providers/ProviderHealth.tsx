import { Anchor, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { CircuitBadge } from "../../components/CircuitBadge";
import { Time } from "../../components/Time";
import { joinList } from "../../lib/filters";
import { formatCount, formatDuration, formatPercent, plural } from "../../lib/numbers";
import { type Provider, troubled } from "./providers";

// Circuits that are named before the rest is only counted.
const named = 4;

/** The last day's traffic of a provider in one line; it opens the requests behind it. */
export function Traffic({ provider }: { provider: Provider }) {
  const { traffic } = provider;
  if (traffic.requests === 0) {
    return (
      <Text size="sm" c="dimmed">
        No requests in the last 24 hours.
      </Text>
    );
  }
  return (
    <Text size="sm">
      <Anchor
        inherit
        component={Link}
        to="/requests"
        search={{ provider: joinList([provider.name]), from: "now-24h" } as never}
      >
        {plural(traffic.requests, "request")}
      </Anchor>
      {" · "}
      {formatPercent(provider.share_percent)} of traffic{" · "}p50 {formatDuration(traffic.latency_p50_ms)}
      {" · "}TTFT {formatDuration(traffic.ttft_p50_ms)}
      {" · "}
      {formatPercent(traffic.error_percent)} errors
    </Text>
  );
}

/** What the provider last said about its own limits. */
export function Headroom({ provider }: { provider: Provider }) {
  const { headroom } = provider;
  if (!headroom) {
    return null;
  }
  return (
    <Text size="sm">
      {headroom.requests != null && `${formatCount(headroom.requests)} requests`}
      {headroom.requests != null && headroom.tokens != null && " · "}
      {headroom.tokens != null && `${formatCount(headroom.tokens)} tokens`} left, as told{" "}
      <Time at={headroom.at} as="age" />
    </Text>
  );
}

/** The circuits that are not closed, with their reasons. */
export function Circuits({ provider }: { provider: Provider }) {
  const bad = troubled(provider);
  if (bad.length === 0) {
    return (
      <Text size="sm">
        {provider.targets.length === 0
          ? "No models."
          : provider.targets.length === 1
            ? "Closed."
            : `All ${formatCount(provider.targets.length)} closed.`}
      </Text>
    );
  }
  return (
    <Stack gap={4}>
      {bad.slice(0, named).map((t) => (
        <Group key={t.target} gap="xs">
          <Text size="sm" fw={600}>
            {t.model}
          </Text>
          <CircuitBadge
            circuit={t.health.circuit}
            reason={t.health.reason_text}
            nextProbe={t.health.next_probe}
          />
          {t.health.reason_text && (
            <Text size="xs" c="dimmed">
              {t.health.reason_text}
            </Text>
          )}
        </Group>
      ))}
      {bad.length > named && (
        <Text size="xs" c="dimmed">
          and {formatCount(bad.length - named)} more of {plural(provider.targets.length, "model")}
        </Text>
      )}
    </Stack>
  );
}
