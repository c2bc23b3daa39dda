import { Anchor, Badge, Group, Table, Text } from "@mantine/core";

import { Money } from "../../components/Money";
import { PageLink } from "../../components/PageLink";
import { joinList } from "../../lib/filters";
import { formatCount, formatDuration, formatPercent, formatWindow } from "../../lib/numbers";
import { priceOrigin } from "../../lib/prices";
import type { ModelDetail } from "./ModelPage";
import { formatListPrice, offerText } from "./models";
import classes from "./scatter.module.css";

const priceHeads = ["Input", "Output", "Cache read", "Cache write", "Per request"];

/** The price of a model by class at every provider that has it. */
export function PriceTable({ model, connects }: { model: ModelDetail; connects: boolean }) {
  if (model.offers.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No provider in the catalog offers this model.
      </Text>
    );
  }
  return (
    <div className={classes.scroll} role="region" aria-label="Price table" tabIndex={0}>
      <Table fz="sm" aria-label="Prices per million tokens">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Provider</Table.Th>
            {priceHeads.map((head) => (
              <Table.Th key={head} ta="right">
                {head}
              </Table.Th>
            ))}
            <Table.Th ta="right">Context</Table.Th>
            <Table.Th>Source</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {model.offers.map((offer) => {
            const { price } = offer;
            return (
              <Table.Tr key={`${offer.provider}/${offer.upstream}`}>
                <Table.Td>
                  <Group gap={6} wrap="nowrap">
                    {offer.connected ? (
                      <Anchor
                        inherit
                        component={PageLink}
                        to="/providers/$name"
                        params={{ name: offer.provider }}
                      >
                        {offer.provider}
                      </Anchor>
                    ) : (
                      offer.provider
                    )}
                    {offer.connected && (
                      <Badge size="xs" color="green" radius="sm">
                        connected
                      </Badge>
                    )}
                    {offer.connect && connects && (
                      <Anchor
                        inherit
                        component={PageLink}
                        to="/providers"
                        search={{ connect: offer.provider }}
                        aria-label={`Connect ${offer.provider}`}
                      >
                        Connect
                      </Anchor>
                    )}
                  </Group>
                  {offer.needs && (
                    <Text size="xs" c="dimmed">
                      {offerText(offer.needs)}
                    </Text>
                  )}
                </Table.Td>
                {[
                  price?.input_per_mtok_usd,
                  price?.output_per_mtok_usd,
                  price && (price.cache_read_per_mtok_usd ?? price.input_per_mtok_usd),
                  price && (price.cache_write_per_mtok_usd ?? price.input_per_mtok_usd),
                ].map((amount, i) => (
                  <Table.Td key={i} ta="right">
                    {amount == null ? "—" : formatListPrice(amount)}
                  </Table.Td>
                ))}
                <Table.Td ta="right">
                  {price && price.per_request_usd !== "0" ? <Money amount={price.per_request_usd} /> : "—"}
                </Table.Td>
                <Table.Td ta="right">{formatWindow(offer.context)}</Table.Td>
                <Table.Td>
                  {price && (
                    <Text size="xs" c="dimmed">
                      {priceOrigin(price).word}
                      {price.as_of && ` as of ${price.as_of}`}
                      {price.tiers.map(
                        (t) =>
                          ` · above ${formatWindow(t.above_tokens)} tokens $${t.input_per_mtok_usd} in, $${t.output_per_mtok_usd} out`,
                      )}
                    </Text>
                  )}
                </Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </div>
  );
}

/** Speed and errors of a model by provider. */
export function ObservedTable({ model }: { model: ModelDetail }) {
  if (model.observed.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No requests in the last 30 days. Speed and errors by provider appear here after the first request.
      </Text>
    );
  }
  return (
    <div className={classes.scroll} role="region" aria-label="Observed figures table" tabIndex={0}>
      <Table fz="sm" aria-label="Speed and errors by provider">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Provider</Table.Th>
            {[
              "Requests",
              "Calls",
              "Failed calls",
              "TTFT p50",
              "Latency p50",
              "Latency p95",
              "Tokens / s",
              "Cost",
            ].map((head) => (
              <Table.Th key={head} ta="right">
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {model.observed.map(({ provider, traffic, tokens_per_second: speed }) => (
            <Table.Tr key={provider}>
              <Table.Td>{provider}</Table.Td>
              <Table.Td ta="right">
                <Anchor
                  inherit
                  component={PageLink}
                  to="/requests"
                  search={{ model: joinList([model.name]), provider: joinList([provider]), from: "now-30d" }}
                >
                  {formatCount(traffic.requests)}
                </Anchor>
              </Table.Td>
              <Table.Td ta="right">{formatCount(traffic.attempts)}</Table.Td>
              <Table.Td ta="right">{formatPercent(traffic.failed_attempt_percent)}</Table.Td>
              <Table.Td ta="right">{formatDuration(traffic.ttft_p50_ms)}</Table.Td>
              <Table.Td ta="right">{formatDuration(traffic.latency_p50_ms)}</Table.Td>
              <Table.Td ta="right">{formatDuration(traffic.latency_p95_ms)}</Table.Td>
              <Table.Td ta="right">{speed == null ? "—" : formatCount(Math.round(speed))}</Table.Td>
              <Table.Td ta="right">
                <Money
                  amount={traffic.priced > 0 ? traffic.cost_usd : null}
                  why="No requests with a known cost."
                />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
