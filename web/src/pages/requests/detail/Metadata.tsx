import { Anchor, Table } from "@mantine/core";
import type { ReactNode } from "react";

import type { Schema } from "../../../api/client";
import { CopyButton } from "../../../components/CopyButton";
import { PageLink } from "../../../components/PageLink";
import { formatBytes } from "../../../lib/numbers";

/** Where a request came from and what it carried. */
export function Metadata({ request: r }: { request: Schema["RequestDetail"] }) {
  const facts: [string, ReactNode][] = [
    ["id", <Copied key="id" text={r.id} />],
    ["key", r.key_id && <Filtered key="key" name="key" value={r.key_id} label={r.key_name ?? r.key_id} />],
    ["sent by", r.account_id && `the dashboard (${r.account_id})`],
    ["endpoint", `${r.endpoint}${r.stream ? ", streamed" : ""}`],
    ["served as", r.served_as],
    ["finish reason", r.finish_reason],
    ["session", r.session && <Filtered key="session" name="session" value={r.session} label={r.session} />],
    ["end user", r.end_user && <Filtered key="user" name="user" value={r.end_user} label={r.end_user} />],
    ["tags", words(r.tags)],
    ["metadata", words(r.metadata)],
    ["client", r.client],
    ["address", r.ip],
    ["trace id", r.trace_id && <Copied key="trace" text={r.trace_id} />],
    ["bytes in, out", `${formatBytes(r.bytes_in)}, ${formatBytes(r.bytes_out)}`],
    ["router", r.versions.router],
    ["predictor", r.versions.predictor],
    ["catalog", r.versions.catalog],
    ["policies", r.versions.policy],
    ["ratings", r.versions.feedback],
  ];
  return (
    <Table fz="sm" verticalSpacing={4} aria-label="Metadata">
      <Table.Tbody>
        {facts
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" w={130} fw={500} c="dimmed">
                {name}
              </Table.Th>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{value}</Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}

function words(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

function Copied({ text }: { text: string }) {
  return (
    <>
      <code>{text}</code> <CopyButton text={text} compact />
    </>
  );
}

function Filtered({ name, value, label }: { name: string; value: string; label: string }) {
  return (
    <Anchor component={PageLink} to="/requests" search={{ [name]: value, from: "now-30d" }} fz="sm">
      {label}
    </Anchor>
  );
}
