import { Tabs, Text } from "@mantine/core";

import type { Schema } from "../../../api/client";
import { Section } from "../../../components/Section";
import { useSearchParams } from "../../../lib/search";
import { Actions } from "./Actions";
import { Attempts } from "./Attempts";
import { Bill } from "./Bill";
import { Conversation } from "./Conversation";
import { Metadata } from "./Metadata";
import { Rating } from "./Rating";
import { Raw } from "./Raw";
import { Summary } from "./Summary";
import { Trace } from "./Trace";
import { Verify } from "./Verify";

type Detail = Schema["RequestDetail"];

const tabs: { value: string; title: string; content: (request: Detail) => React.ReactNode }[] = [
  {
    value: "conversation",
    title: "Conversation",
    content: (request) => (
      <>
        <Conversation request={request} />
        <Rating request={request} />
      </>
    ),
  },
  { value: "why", title: "Why", content: (request) => <Why request={request} /> },
  { value: "cost", title: "Cost", content: (request) => <Bill request={request} /> },
  { value: "attempts", title: "Attempts", content: (request) => <Attempts request={request} /> },
  { value: "details", title: "Details", content: (request) => <Metadata request={request} /> },
  { value: "raw", title: "Raw", content: (request) => <Raw request={request} /> },
];

/** The summary of a request and its parts in tabs. The open tab is in the URL. */
export function RequestSections({ request }: { request: Detail }) {
  const [search, setSearch] = useSearchParams();
  const open = tabs.find(({ value }) => value === search["tab"]) ?? tabs[0];
  return (
    <>
      <Summary request={request} />
      <Actions request={request} />
      <Tabs
        value={open?.value}
        onChange={(value) => setSearch({ tab: value === tabs[0]?.value ? undefined : (value ?? undefined) })}
        keepMounted={false}
      >
        <Tabs.List mb="md" style={{ flexWrap: "nowrap", overflowX: "auto", overflowY: "hidden" }}>
          {tabs.map(({ value, title }) => (
            <Tabs.Tab key={value} value={value} px="sm">
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map(({ value, content }) => (
          <Tabs.Panel key={value} value={value}>
            {content(request)}
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}

function Why({ request }: { request: Detail }) {
  if (!request.trace) {
    return (
      <Text size="sm" c="dimmed">
        No decision: the request was rejected before routing.
      </Text>
    );
  }
  return (
    <Section title="Routing trace">
      <Trace trace={request.trace} attempts={request.attempts} />
      <Verify id={request.id} />
    </Section>
  );
}
