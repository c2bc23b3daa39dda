import { Anchor, Table } from "@mantine/core";
import type { ReactNode } from "react";

import type { Schema } from "../../../api/client";
import { CopyButton } from "../../../components/CopyButton";
import { PageLink } from "../../../components/PageLink";
import { formatBytes } from "../../../lib/numbers";
import { cacheText } from "../cacheText";

/** Origin, identifiers and versions of a request. */
export function Metadata({ request: r }: { request: Schema["RequestDetail"] }) {
  const facts: [string, ReactNode][] = [
    ["ID", <Copied key="id" text={r.id} />],
    ["Key", r.key_id && <Filtered key="key" name="key" value={r.key_id} label={r.key_name ?? r.key_id} />],
    ["Source", r.account_id && `Dashboard (${r.account_id})`],
    ["Endpoint", `${r.endpoint}${r.stream ? ", streamed" : ""}`],
    ["Upstream model", r.served_as],
    ["Finish reason", r.finish_reason],
    ["Response cache", r.cache_use && <CacheFact key="cache" use={r.cache_use} />],
    ["Session", r.session && <SessionLink key="session" request={r} session={r.session} />],
    ["End user", r.end_user && <Filtered key="user" name="user" value={r.end_user} label={r.end_user} />],
    ["Tags", formatLabels(r.tags)],
    ["Metadata", formatLabels(r.metadata)],
    ["Client", r.client],
    ["IP address", r.ip],
    ["Trace ID", r.trace_id && <Copied key="trace" text={r.trace_id} />],
    ["Bytes in / out", `${formatBytes(r.bytes_in)} / ${formatBytes(r.bytes_out)}`],
    ["Router version", r.versions.router],
    ["Predictor version", r.versions.predictor],
    ["Catalog version", r.versions.catalog],
    ["Policy version", r.versions.policy],
    ["Ratings version", r.versions.feedback],
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

/** How the request used the response cache, with a link to the request that a cached response was made for. */
function CacheFact({ use }: { use: Schema["CacheUse"] }) {
  return (
    <>
      {cacheText(use)}{" "}
      {use.source && (
        <Anchor component={PageLink} to="/requests/$id" params={{ id: use.source }} fz="sm">
          Show original request
        </Anchor>
      )}
    </>
  );
}

function formatLabels(labels: Record<string, string>): string {
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

/** A link to the turn of a session, and one to the requests of the session. */
function SessionLink({ request, session }: { request: Schema["RequestDetail"]; session: string }) {
  return (
    <>
      <Anchor
        component={PageLink}
        to="/sessions/$id"
        params={{ id: session }}
        search={{ turn: request.id }}
        fz="sm"
      >
        {session}
      </Anchor>{" "}
      {request.session_source === "derived" && "(derived from the conversation) "}
      <Filtered name="session" value={session} label="Show requests" />
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
