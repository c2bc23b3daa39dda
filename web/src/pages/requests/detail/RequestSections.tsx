import { Anchor, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Schema } from "../../../api/client";
import { Section } from "../../../components/Section";
import { Actions } from "./Actions";
import { Attempts } from "./Attempts";
import { Bill } from "./Bill";
import { Messages } from "./Messages";
import { Metadata } from "./Metadata";
import { Rating } from "./Rating";
import { Trace } from "./Trace";
import { Summary } from "./Summary";
import { Verify } from "./Verify";

/** The sections of a request with an index. */
export function RequestSections({ request }: { request: Schema["RequestDetail"] }) {
  const sections: { id: string; title: string; content: ReactNode }[] = [
    { id: "trace", title: "Routing trace", content: <RoutingTrace request={request} /> },
    { id: "attempts", title: "Attempts", content: <Attempts request={request} /> },
    { id: "cost", title: "Tokens and cost", content: <Bill request={request} /> },
    { id: "messages", title: "Messages", content: <Messages request={request} /> },
    { id: "metadata", title: "Metadata", content: <Metadata request={request} /> },
  ];
  return (
    <>
      <Summary request={request} />
      <Rating request={request} />
      <Actions request={request} />
      <Group gap="md" mb="lg" component="nav" aria-label="Sections">
        {sections.map(({ id, title }) => (
          <Anchor
            key={id}
            size="sm"
            component="button"
            type="button"
            onClick={() => document.getElementById(id)?.scrollIntoView()}
          >
            {title}
          </Anchor>
        ))}
      </Group>
      {sections.map(({ id, title, content }) => (
        <Section key={id} id={id} title={title}>
          {content}
        </Section>
      ))}
    </>
  );
}

function RoutingTrace({ request }: { request: Schema["RequestDetail"] }) {
  if (!request.trace) {
    return (
      <Text size="sm" c="dimmed">
        No decision: the request was rejected before routing.
      </Text>
    );
  }
  return (
    <>
      <Trace trace={request.trace} attempts={request.attempts} />
      <Verify id={request.id} />
    </>
  );
}
