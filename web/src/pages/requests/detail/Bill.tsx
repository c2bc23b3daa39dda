import { Table, Text } from "@mantine/core";

import type { Schema } from "../../../api/client";
import { Money } from "../../../components/Money";
import { formatCount } from "../../../lib/numbers";
import classes from "./detail.module.css";
import { baselineWords } from "./Trace";

type Detail = Schema["RequestDetail"];

const labels: Record<string, string> = {
  input: "uncached input",
  cache_read: "cache read",
  cache_write: "cache write",
  output: "output",
  request: "per-request fee",
};

/** What the request cost, row by row, beside what the baseline would have cost. The rows sum to the total exactly. */
export function Bill({ request }: { request: Detail }) {
  const { bill, baseline_bill: base } = request;
  if (!bill && !base) {
    return (
      <Text size="sm" c="dimmed">
        {absence(request)}
      </Text>
    );
  }
  const classesSeen = [...new Set([...(bill?.rows ?? []), ...(base?.rows ?? [])].map((row) => row.class))];
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label="Bill">
      <Table fz="sm" verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Class</Table.Th>
            <Head>Tokens</Head>
            <Head>{request.model ?? "Routed"}, per million</Head>
            <Head>Amount</Head>
            <Head>{request.baseline_model ?? "Baseline"}, per million</Head>
            <Head>Amount</Head>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {classesSeen.map((name) => (
            <BillRow key={name} name={name} request={request} />
          ))}
          <Table.Tr>
            <Table.Td>routing itself</Table.Td>
            <Table.Td colSpan={2} ta="right" c="dimmed">
              inside the gateway
            </Table.Td>
            <Cell>
              <Money amount="0" />
            </Cell>
            <Table.Td />
            <Table.Td />
          </Table.Tr>
        </Table.Tbody>
        <Table.Tfoot>
          <Table.Tr fw={600}>
            <Table.Th scope="row">total</Table.Th>
            <Table.Td colSpan={2} />
            <Cell>
              <Money amount={bill?.total_usd} />
            </Cell>
            <Table.Td />
            <Cell>
              <Money amount={base?.total_usd} why="The baseline has no known price." />
            </Cell>
          </Table.Tr>
          {request.saved_usd !== null && (
            <Table.Tr fw={600}>
              <Table.Th scope="row">saved</Table.Th>
              <Table.Td colSpan={2} />
              <Cell>
                <Money amount={request.saved_usd} />
              </Cell>
              <Table.Td colSpan={2} />
            </Table.Tr>
          )}
        </Table.Tfoot>
      </Table>
      <Text size="xs" c="dimmed" mt={4}>
        {bill && `Prices: ${bill.source}, as of ${bill.as_of}. `}
        {request.baseline_model &&
          `Baseline ${request.baseline_model}: ${baselineWords[request.baseline_source ?? ""] ?? "fixed with the decision"}. `}
        {request.tokens.estimated && "The token counts are our own: the provider told none. "}
        Estimate: same tokens at list prices; another model might have written more or less.
      </Text>
    </div>
  );
}

function absence(request: Detail): string {
  if (request.attempts.length === 0) {
    return "Nothing was used: no provider was called.";
  }
  return request.model === null
    ? "Nothing was used: no attempt was answered."
    : "The model that served has no known price.";
}

function BillRow({ name, request }: { name: string; request: Detail }) {
  const find = (bill: Schema["BillView"] | undefined) => bill?.rows.find((row) => row.class === name);
  const [ours, base] = [find(request.bill), find(request.baseline_bill)];
  const reasoning = name === "output" && request.tokens.reasoning > 0;
  return (
    <Table.Tr>
      <Table.Td>
        {labels[name] ?? name}
        {reasoning && (
          <Text span size="xs" c="dimmed">
            {" "}
            of which {formatCount(request.tokens.reasoning)} reasoning
          </Text>
        )}
      </Table.Td>
      <Cell>{formatCount(ours?.tokens ?? base?.tokens)}</Cell>
      <Cell>{ours?.per_mtok_usd != null ? <Money amount={ours.per_mtok_usd} paid /> : ""}</Cell>
      <Cell>{ours ? <Money amount={ours.amount_usd} /> : ""}</Cell>
      <Cell>{base?.per_mtok_usd != null ? <Money amount={base.per_mtok_usd} paid /> : ""}</Cell>
      <Cell>{base ? <Money amount={base.amount_usd} /> : ""}</Cell>
    </Table.Tr>
  );
}

function Head({ children }: { children: React.ReactNode }) {
  return <Table.Th ta="right">{children}</Table.Th>;
}

function Cell({ children }: { children: React.ReactNode }) {
  return (
    <Table.Td ta="right" ff="monospace" className={classes.nowrap}>
      {children}
    </Table.Td>
  );
}
