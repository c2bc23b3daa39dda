import { Anchor, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { CircuitBadge, Countdown } from "../../components/CircuitBadge";
import { Time } from "../../components/Time";
import { joinList } from "../../lib/filters";
import { formatCount, formatDuration, formatPercent, plural } from "../../lib/numbers";
import { type Provider, unhealthyTargets } from "./providers";

// Number of unhealthy models that are listed; the rest is counted.
const maxListed = 4;

/** The last 24 hours of a provider on one line, with a link to its requests. */
export function Traffic({ provider }: { provider: Provider }) {
  const { traffic } = provider;
  if (traffic.requests === 0) {
    return (
      <Text size="sm" c="dimmed">
        No requests in the last 24 hours
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

/** The remaining rate limit that the provider last reported. */
export function Headroom({ provider }: { provider: Provider }) {
  const { headroom } = provider;
  if (!headroom) {
    return null;
  }
  return (
    <Text size="sm">
      {headroom.requests != null && `${formatCount(headroom.requests)} requests`}
      {headroom.requests != null && headroom.tokens != null && " · "}
      {headroom.tokens != null && `${formatCount(headroom.tokens)} tokens`} remaining, reported{" "}
      <Time at={headroom.at} as="age" />
    </Text>
  );
}

/** The models whose circuit is not closed, with reasons. */
export function Circuits({ provider }: { provider: Provider }) {
  const unhealthy = unhealthyTargets(provider);
  if (unhealthy.length === 0) {
    return (
      <Text size="sm">
        {provider.targets.length === 0
          ? "No models"
          : provider.targets.length === 1
            ? "Model healthy"
            : `All ${plural(provider.targets.length, "model")} healthy`}
      </Text>
    );
  }
  return (
    <Stack gap={4}>
      {unhealthy.slice(0, maxListed).map((t) => (
        <CircuitLine key={t.target} target={t} />
      ))}
      {unhealthy.length > maxListed && (
        <Text size="xs" c="dimmed">
          and {formatCount(unhealthy.length - maxListed)} more of {plural(provider.targets.length, "model")}
        </Text>
      )}
    </Stack>
  );
}

/** The circuit of one model in plain words: "Paused after 5 failures in a row; next try in 12 s". */
export function CircuitLine({ target }: { target: Provider["targets"][number] }) {
  const { circuit, summary, since, reason_text: reason, next_probe: next } = target.health;
  return (
    <Group gap="xs" role="group" aria-label={`Circuit breaker for ${target.model}`}>
      <Text size="sm" fw={600}>
        {target.model}
      </Text>
      <CircuitBadge circuit={circuit} reason={reason} />
      <Text size="xs" c="dimmed">
        {summary}
        {next && (
          <>
            {"; "}
            <Countdown until={next} what="next try" />
          </>
        )}
        {/* The summary of a backoff already has the reason. */}
        {since && reason && ` · ${reason}`}
      </Text>
    </Group>
  );
}
