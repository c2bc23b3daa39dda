import { Table, Text, Tooltip } from "@mantine/core";

import type { Schema } from "../../../api/client";
import { Money } from "../../../components/Money";
import { formatCount } from "../../../lib/numbers";
import { useZone } from "../../../lib/preferences";
import { priceOrigin } from "../../../lib/prices";
import { formatDay } from "../../../lib/time";
import classes from "./detail.module.css";
import { baselineLabels } from "./trace";

type Detail = Schema["RequestDetail"];

const labels: Record<string, string> = {
  input: "Uncached input",
  input_audio: "Audio input",
  cache_read: "Cache read",
  cache_write: "Cache write",
  cache_write_1h: "Cache write (1 h)",
  above_hold: "Above the reserved amount, not charged",
  broken_attempts: "Interrupted attempts",
  output: "Output",
  output_audio: "Audio output",
  web_search: "Web searches",
  request: "Per-request fee",
};

/** The cost of the request by token class, next to that of the baseline. The rows sum to the total exactly. */
export function Bill({ request }: { request: Detail }) {
  const { bill, baseline_bill: base } = request;
  if (!bill && !base) {
    return (
      <Text size="sm" c="dimmed">
        {absence(request)}
      </Text>
    );
  }
  const rowClasses = [
    ...new Set([
      ...[...(bill?.rows ?? []), ...(base?.rows ?? [])].map((row) => row.class),
      ...(bill?.excluded ?? []),
    ]),
  ];
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label="Cost breakdown">
      <Table verticalSpacing={4} horizontalSpacing={6} className={classes.bill}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Class</Table.Th>
            <Head>Tokens</Head>
            <Head rate>Per million</Head>
            <Head>{request.model ?? "Routed"}</Head>
            <Head rate>Per million</Head>
            <Head>
              {request.baseline_model ?? "Baseline"}
              {request.baseline_model && (
                <Text span size="xs" c="dimmed" display="block" fw={400}>
                  baseline
                </Text>
              )}
            </Head>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rowClasses.map((name) => (
            <BillRow key={name} name={name} request={request} />
          ))}
          <Table.Tr>
            <Table.Td>
              <Tooltip label="Routing runs inside the gateway at no cost.">
                <span>Routing</span>
              </Tooltip>
            </Table.Td>
            <Cell>{null}</Cell>
            <Cell rate>{null}</Cell>
            <Cell>
              <Money amount="0" />
            </Cell>
            <Cell rate>{null}</Cell>
            <Cell>{null}</Cell>
          </Table.Tr>
        </Table.Tbody>
        <Table.Tfoot>
          <Table.Tr fw={600}>
            <Table.Th scope="row">Total</Table.Th>
            <Cell>{null}</Cell>
            <Cell rate>{null}</Cell>
            <Cell>
              <Money amount={bill?.total_usd} />
            </Cell>
            <Cell rate>{null}</Cell>
            <Cell>
              <Money amount={base?.total_usd} why="The baseline has no price." />
            </Cell>
          </Table.Tr>
          {request.saved_usd !== null && (
            <Table.Tr fw={600}>
              <Table.Th scope="row">Saved</Table.Th>
              <Cell>{null}</Cell>
              <Cell rate>{null}</Cell>
              <Cell>
                <Money amount={request.saved_usd} />
              </Cell>
              <Cell rate>{null}</Cell>
              <Cell>{null}</Cell>
            </Table.Tr>
          )}
        </Table.Tfoot>
      </Table>
      <Text size="xs" c="dimmed" mt={4}>
        {bill && <Origin bill={bill} />}
        {request.baseline_model &&
          `Baseline ${request.baseline_model}: ${baselineLabels[request.baseline_source ?? ""] ?? "set when routed"}. `}
        {usageNote(request)}
        {excludedNote(bill)}
        Estimated from the same token counts at list prices. Another model might use more or fewer tokens.
      </Text>
    </div>
  );
}

/** Explains token counts and amounts that the provider did not report. */
export function usageNote(request: Pick<Detail, "usage_flag" | "tokens">): string {
  switch (request.usage_flag) {
    case "rejected":
      return "The provider reported impossible token counts, so the gateway’s estimate is used. ";
    case "above_hold":
      return "The reported usage costs more than the reserved amount, so the reserved amount is charged. ";
    default:
      return request.tokens.estimated
        ? "The provider reported no token counts, so the gateway’s estimate is used. "
        : "";
  }
}

/** Names the fees that the total does not include. */
export function excludedNote(bill: Pick<Schema["BillView"], "excluded"> | undefined): string {
  const unpriced: Record<string, string> = {
    web_search: "Web search fees are not included, because their price is unknown. ",
    input_audio: "The audio input is not included, because its price is unknown. ",
    output_audio: "The audio output is not included, because its price is unknown. ",
    transcription: "Transcription is not included, because its price is unknown. ",
  };
  return (bill?.excluded ?? []).map((name) => unpriced[name] ?? "").join("");
}

/** The origin and date of the prices, with details on hover. */
function Origin({ bill }: { bill: Schema["BillView"] }) {
  const [zone] = useZone();
  const { word, detail } = priceOrigin(bill);
  return (
    <>
      <Tooltip label={detail}>
        <Text span inherit td="underline dotted" tabIndex={0}>
          {word}
          {bill.as_of && ` as of ${dayOf(bill.as_of, zone)}`}
          {bill.card && bill.card !== "base" && `, ${bill.card}`}
        </Text>
      </Tooltip>
      .{" "}
    </>
  );
}

/** Formats a date of the catalog; other text is returned unchanged. */
function dayOf(date: string, zone: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(date) ? formatDay(`${date}T12:00:00Z`, zone) : date;
}

function absence(request: Detail): string {
  if (request.attempts.length === 0) {
    return "No usage: no provider was called.";
  }
  return request.model === null
    ? "No usage: no attempt succeeded."
    : "Unknown cost: this model has no price.";
}

function BillRow({ name, request }: { name: string; request: Detail }) {
  const find = (bill: Schema["BillView"] | undefined) => bill?.rows.find((row) => row.class === name);
  const [ours, base] = [find(request.bill), find(request.baseline_bill)];
  const excluded = request.bill?.excluded?.includes(name);
  const searches = name === "web_search" ? (ours?.searches ?? request.tokens.searches) : undefined;
  const reasoning = name === "output" && request.tokens.reasoning > 0;
  return (
    <Table.Tr>
      <Table.Td>
        {labels[name] ?? name}
        {reasoning && (
          <Text span size="xs" c="dimmed">
            {" "}
            including {formatCount(request.tokens.reasoning)} reasoning
          </Text>
        )}
      </Table.Td>
      <Cell>{formatCount(searches ?? ours?.tokens ?? base?.tokens)}</Cell>
      <Cell rate>
        <Rate row={ours} />
      </Cell>
      <Cell>{ours ? <Money amount={ours.amount_usd} /> : excluded ? "not included" : ""}</Cell>
      <Cell rate>
        <Rate row={base} />
      </Cell>
      <Cell>{base ? <Money amount={base.amount_usd} /> : ""}</Cell>
    </Table.Tr>
  );
}

/** The price per million tokens, or per thousand web searches. */
function Rate({ row }: { row: Schema["BillRow"] | undefined }) {
  if (row?.per_1k_searches_usd != null) {
    return (
      <>
        <Money amount={row.per_1k_searches_usd} paid /> per 1,000
      </>
    );
  }
  return row?.per_mtok_usd != null ? <Money amount={row.per_mtok_usd} paid /> : "";
}

interface CellProps {
  /** Whether the value is a price per million tokens, which is hidden on narrow screens. */
  rate?: boolean;
  children: React.ReactNode;
}

function Head({ rate, children }: CellProps) {
  return (
    <Table.Th ta="right" className={rate ? classes.rate : undefined} fw={rate ? 400 : undefined}>
      {children}
    </Table.Th>
  );
}

function Cell({ rate, children }: CellProps) {
  return (
    <Table.Td ta="right" ff="monospace" className={`${classes.nowrap} ${rate ? classes.rate : ""}`}>
      {children}
    </Table.Td>
  );
}
