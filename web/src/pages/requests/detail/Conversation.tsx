import {
  Button,
  Group,
  SegmentedControl,
  Spoiler,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useRef, useState } from "react";

import type { Schema } from "../../../api/client";
import { requestBodyQuery } from "../../../api/queries";
import { EmptyState } from "../../../components/EmptyState";
import { ErrorPanel } from "../../../components/ErrorPanel";
import { Icon } from "../../../components/Icon";
import { JsonBlock } from "../../../components/JsonBlock";
import { RowsSkeleton } from "../../../components/Loading";
import { Markdown } from "../../../components/Markdown";
import { PageLink } from "../../../components/PageLink";
import { Redacted } from "../../../components/Redacted";
import { countInvisible } from "../../../lib/invisible";
import { prettyJson } from "../../../lib/json";
import { plural } from "../../../lib/numbers";
import { useSession } from "../../../lib/session";
import { pages } from "../../../routes";
import classes from "./Conversation.module.css";
import { answerMessages, requestMessages, requestTools, type Tool } from "./conversation";
import { type CallPart, type Item, previewOf, roleName, textOf, threadOf } from "./thread";

/** The conversation of a request, or the reason why it is missing. */
export function Conversation({ request }: { request: Schema["RequestDetail"] }) {
  return (
    <StoredBody id={request.id}>
      {(body) => <Thread body={body} failed={request.outcome !== "ok"} />}
    </StoredBody>
  );
}

interface BodyProps {
  id: string;
  children: (body: Schema["RequestBody"]) => ReactNode;
}

/** Loads the bodies of a request and shows why they are missing. */
export function StoredBody({ id, children }: BodyProps) {
  const { may } = useSession();
  const { data, error, refetch } = useQuery({ ...requestBodyQuery(id), enabled: may("read_bodies") });
  if (!may("read_bodies")) {
    return (
      <EmptyState icon="shield" title="You do not have permission to view messages">
        Ask an owner or admin of this workspace.
      </EmptyState>
    );
  }
  if (error) {
    return <ErrorPanel what="Could not load messages" error={error} onRetry={() => void refetch()} />;
  }
  if (!data) {
    return <RowsSkeleton rows={3} height={60} />;
  }
  return data.state === "stored" ? children(data) : <Absent body={data} />;
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

interface View {
  search: string;
  /** Whether to show text as it was sent, without Markdown. */
  plain: boolean;
}

function Thread({ body, failed }: { body: Schema["RequestBody"]; failed: boolean }) {
  const end = useRef<HTMLDivElement>(null);
  const [search, setSearch] = useState("");
  const [format, setFormat] = useState("rendered");
  const parsed = useMemo(() => {
    const prompts = requestMessages(body.chat_request ?? body.request);
    const answers = answerMessages(body.chat_response ?? body.response, !body.chat_response && body.streamed);
    const thread = prompts && threadOf(prompts, answers ?? []);
    const hidden = thread
      ? [...thread.system, ...thread.earlier, ...thread.last].reduce(
          (sum, item) => sum + countInvisible(textOf(item)),
          0,
        )
      : 0;
    return { thread, answers, tools: requestTools(body.chat_request ?? body.request), hidden };
  }, [body]);
  const { thread, answers, tools, hidden } = parsed;
  if (!thread) {
    return (
      <Text size="sm" c="dimmed">
        This request has no messages to show. The Raw tab shows the request and response bodies.
      </Text>
    );
  }
  const view: View = { search: search.trim(), plain: format === "plain" };
  return (
    <Stack gap="sm">
      <Group gap="xs" justify="space-between">
        <Group gap="xs">
          <TextInput
            size="xs"
            w={180}
            aria-label="Find in messages"
            placeholder="Find"
            leftSection={<Icon name="search" size={14} />}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
          <SegmentedControl
            size="xs"
            aria-label="Format"
            data={[
              { value: "rendered", label: "Rendered" },
              { value: "plain", label: "Plain text" },
            ]}
            value={format}
            onChange={setFormat}
          />
        </Group>
        <Button
          size="xs"
          variant="subtle"
          leftSection={<Icon name="arrowDown" size={14} />}
          onClick={() => end.current?.scrollIntoView({ block: "end" })}
        >
          Jump to end
        </Button>
      </Group>
      {body.missing_parts > 0 && <Text size="sm">{body.reason}</Text>}
      {hidden > 0 && (
        <Text size="sm" role="status">
          <Icon name="alert" size={13} /> {hidden >= 500 ? "At least " : ""}
          {plural(hidden, "invisible character")} marked in red.
        </Text>
      )}
      {thread.system.map((item) => (
        <Fold key={item.number} title={roleName(item.role)} hint={previewOf(item)} force={view.search !== ""}>
          <MessageBody item={item} view={view} />
        </Fold>
      ))}
      {tools.length > 0 && <Tools tools={tools} view={view} />}
      {thread.earlier.length > 0 && <Earlier items={thread.earlier} view={view} />}
      {thread.last.map((item) => (
        <MessageView key={item.number} item={item} view={view} />
      ))}
      {!answers && (
        <div className={classes.message} data-role="assistant">
          <Text size="xs" fw={600} c="dimmed" mb={4}>
            Response
          </Text>
          <div className={classes.plain}>
            <Redacted
              text={body.response || (failed ? "No response: the request failed." : "No response.")}
            />
          </div>
        </div>
      )}
      <div ref={end} />
    </Stack>
  );
}

interface FoldProps {
  title: string;
  hint: string;
  /** Whether it is open regardless of the user's choice, such as during a search. */
  force?: boolean;
  children: ReactNode;
}

/** A part of the conversation that is closed by default. */
function Fold({ title, hint, force, children }: FoldProps) {
  const [opened, setOpened] = useState(false);
  const open = opened || Boolean(force);
  return (
    <div className={classes.fold}>
      <UnstyledButton className={classes.foldHead} aria-expanded={open} onClick={() => setOpened(!opened)}>
        <Icon name={open ? "chevronDown" : "chevronRight"} size={13} />
        <span className={classes.foldTitle}>{title}</span>
        {!open && <span className={classes.hint}>{hint}</span>}
      </UnstyledButton>
      {open && <div className={classes.foldBody}>{children}</div>}
    </div>
  );
}

const step = 50;

/** The turns before the last one, newest last. Long conversations are shown in steps. */
function Earlier({ items, view }: { items: Item[]; view: View }) {
  const [shown, setShown] = useState(0);
  const visible = view.search === "" ? items.slice(items.length - shown) : items;
  const rest = items.length - visible.length;
  return (
    <>
      {rest > 0 && (
        <UnstyledButton className={classes.more} onClick={() => setShown(shown + step)}>
          <Icon name="chevronUp" size={13} /> Show {rest > step ? `${step} of ` : ""}
          {plural(rest, "earlier message")}
        </UnstyledButton>
      )}
      {visible.map((item) => (
        <Fold
          key={item.number}
          title={roleName(item.role)}
          hint={previewOf(item)}
          force={view.search !== "" && textOf(item).toLowerCase().includes(view.search.toLowerCase())}
        >
          <MessageBody item={item} view={view} />
        </Fold>
      ))}
    </>
  );
}

function Tools({ tools, view }: { tools: Tool[]; view: View }) {
  return (
    <Fold
      title={plural(tools.length, "tool")}
      hint={tools.map(({ name }) => name).join(", ")}
      force={view.search !== ""}
    >
      <Stack gap={6}>
        {tools.map((tool, i) => (
          <Fold key={i} title={tool.name} hint={tool.description}>
            <JsonBlock text={tool.definition} search={view.search} />
          </Fold>
        ))}
      </Stack>
    </Fold>
  );
}

function MessageView({ item, view }: { item: Item; view: View }) {
  return (
    <div className={classes.message} data-role={item.role}>
      <Text size="xs" fw={600} c="dimmed" mb={4}>
        {roleName(item.role)}
      </Text>
      <MessageBody item={item} view={view} />
    </div>
  );
}

function MessageBody({ item, view }: { item: Item; view: View }) {
  return (
    <Spoiler
      maxHeight={620}
      showLabel="Show all"
      hideLabel="Show less"
      attributes={{ content: { "aria-label": `Message ${item.number}, ${item.role}` } }}
    >
      {item.parts.map((part, i) => (
        <PartView key={i} part={part} view={view} />
      ))}
      {item.parts.length === 0 && (
        <Text size="sm" c="dimmed">
          Empty message
        </Text>
      )}
    </Spoiler>
  );
}

function PartView({ part, view }: { part: Item["parts"][number]; view: View }) {
  switch (part.kind) {
    case "text":
      return <RichText text={part.text} view={view} />;
    case "call":
      return <Call call={part} view={view} />;
    case "image":
      return part.data ? (
        <img src={part.data} alt={part.label} className={classes.image} />
      ) : (
        <Text size="sm" c="dimmed" fs="italic" style={{ overflowWrap: "anywhere" }}>
          [{part.label}]
        </Text>
      );
    case "other":
      return (
        <Text size="sm" c="dimmed" fs="italic">
          [{part.label}]
        </Text>
      );
  }
}

// Longer text is shown without formatting, which the browser lays out quickly.
const maxRendered = 60_000;

function RichText({ text, view }: { text: string; view: View }) {
  const short = text.length <= maxRendered && !view.plain;
  const json = useMemo(() => (short ? prettyJson(text) : undefined), [short, text]);
  if (json !== undefined) {
    return <JsonBlock text={json} search={view.search} />;
  }
  if (short) {
    return <Markdown text={text} search={view.search} />;
  }
  return (
    <div className={classes.plain}>
      <Redacted text={text} search={view.search} invisible />
    </div>
  );
}

/** A tool call together with its result. */
function Call({ call, view }: { call: CallPart; view: View }) {
  return (
    <div className={classes.call}>
      <div className={classes.callHead}>
        <Icon name="settings" size={13} /> Tool call: <strong>{call.name}</strong>
      </div>
      <JsonBlock text={call.args} search={view.search} />
      {call.result && (
        <>
          <div className={classes.callHead}>
            <Icon name="arrowRight" size={13} /> Result
          </div>
          <Spoiler maxHeight={180} showLabel="Show the whole result" hideLabel="Show less">
            <div>
              {call.result.parts.map((part, i) =>
                part.kind === "text" ? (
                  <Output key={i} text={part.text} search={view.search} />
                ) : (
                  <PartView key={i} part={part} view={view} />
                ),
              )}
            </div>
          </Spoiler>
        </>
      )}
    </div>
  );
}

/** The text that a tool returned: JSON with line breaks, or as it is. */
function Output({ text, search }: { text: string; search: string }) {
  const json = useMemo(() => (text.length <= maxRendered ? prettyJson(text) : undefined), [text]);
  return json !== undefined ? (
    <JsonBlock text={json} search={search} />
  ) : (
    <div className={`${classes.plain} ${classes.output}`}>
      <Redacted text={text} search={search} invisible />
    </div>
  );
}
