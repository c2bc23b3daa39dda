import { Button, Code, Group, Paper, SegmentedControl, Spoiler, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../../api/client";
import { requestBodyQuery } from "../../../api/queries";
import { CodeBlock } from "../../../components/CodeBlock";
import { EmptyState } from "../../../components/EmptyState";
import { ErrorPanel } from "../../../components/ErrorPanel";
import { Icon } from "../../../components/Icon";
import { RowsSkeleton } from "../../../components/Loading";
import { PageLink } from "../../../components/PageLink";
import { Redacted } from "../../../components/Redacted";
import { useSession } from "../../../lib/session";
import { pages } from "../../../routes";
import { answerMessages, type Message, type Part, pretty, requestMessages } from "./conversation";
import classes from "./detail.module.css";

/** The messages of a request, loaded on demand, or the reason why they are missing. */
export function Messages({ request }: { request: Schema["RequestDetail"] }) {
  const { may } = useSession();
  const [opened, setOpened] = useState(false);
  if (!may("read_bodies")) {
    return (
      <EmptyState icon="shield" title="You do not have permission to view messages">
        Ask an owner or admin of this workspace.
      </EmptyState>
    );
  }
  if (!opened && request.body_state === "stored") {
    return (
      <Button
        variant="default"
        size="xs"
        leftSection={<Icon name="book" size={14} />}
        onClick={() => setOpened(true)}
      >
        Show messages
      </Button>
    );
  }
  return <Body id={request.id} />;
}

function Body({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(requestBodyQuery(id));
  const [view, setView] = useState("conversation");
  const [search, setSearch] = useState("");
  if (error) {
    return <ErrorPanel what="Could not load messages" error={error} onRetry={() => void refetch()} />;
  }
  if (!data) {
    return <RowsSkeleton rows={3} height={60} />;
  }
  if (data.state !== "stored") {
    return <Absent body={data} />;
  }
  const prompts = requestMessages(data.chat_request ?? data.request);
  const answers = answerMessages(data.chat_response ?? data.response, !data.chat_response && data.streamed);
  const readable = prompts !== undefined;
  return (
    <Stack gap="sm">
      {data.missing_parts > 0 && <Text size="sm">{data.reason}</Text>}
      <Group gap="xs">
        <SegmentedControl
          size="xs"
          aria-label="Message view"
          data={[
            { value: "conversation", label: "Conversation" },
            { value: "json", label: "JSON" },
          ]}
          value={view}
          onChange={setView}
        />
        {view === "conversation" && readable && (
          <TextInput
            size="xs"
            aria-label="Find in messages"
            placeholder="Find"
            leftSection={<Icon name="search" size={14} />}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        )}
      </Group>
      {view === "conversation" && readable ? (
        <Stack gap="xs">
          {[...prompts, ...(answers ?? [])].map((message, i) => (
            <MessageView key={i} number={i + 1} message={message} search={search} />
          ))}
          {!answers && (
            <div className={classes.message}>
              <Redacted text={data.response ? data.response : "No response."} search={search} />
            </div>
          )}
        </Stack>
      ) : (
        <Raw body={data} />
      )}
    </Stack>
  );
}

function Absent({ body }: { body: Schema["RequestBody"] }) {
  const data = pages.find((page) => page.path === "/settings/data");
  return (
    <EmptyState
      icon="archive"
      title="No messages"
      actions={
        body.state === "disabled" &&
        data && (
          <Button size="xs" variant="default" component={PageLink} to={data.path}>
            {data.title}
          </Button>
        )
      }
    >
      {body.reason}
    </EmptyState>
  );
}

function MessageView({ number, message, search }: { number: number; message: Message; search: string }) {
  return (
    <Paper withBorder p="sm">
      <Text size="xs" fw={600} c="dimmed" mb={4}>
        {message.role}
      </Text>
      <Spoiler
        maxHeight={260}
        showLabel="Show all"
        hideLabel="Show less"
        attributes={{ content: { "aria-label": `Message ${number}, ${message.role}` } }}
      >
        {message.parts.map((part, i) => (
          <PartView key={i} part={part} search={search} />
        ))}
        {message.parts.length === 0 && (
          <Text size="sm" c="dimmed">
            Empty message
          </Text>
        )}
      </Spoiler>
    </Paper>
  );
}

function PartView({ part, search }: { part: Part; search: string }) {
  switch (part.kind) {
    case "text":
      return (
        <div className={classes.message}>
          <Redacted text={part.text} search={search} />
        </div>
      );
    case "call":
      return (
        <div>
          <Text size="sm">
            Tool call: <strong>{part.name}</strong>
          </Text>
          <Code block>
            <Redacted text={part.args} />
          </Code>
        </div>
      );
    case "other":
      return (
        <Text size="sm" c="dimmed" fs="italic">
          [{part.label}]
        </Text>
      );
  }
}

function Raw({ body }: { body: Schema["RequestBody"] }) {
  return (
    <>
      <Text size="xs" fw={600}>
        Request
      </Text>
      <CodeBlock text={pretty(body.request ?? "")} maxHeight={360} />
      <Text size="xs" fw={600}>
        Response
      </Text>
      <CodeBlock text={pretty(body.response ?? "")} maxHeight={360} />
    </>
  );
}
