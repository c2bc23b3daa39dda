import { Anchor, Badge, Box, Button, Code, Collapse, Group, Paper, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import type { Schema } from "../../api/client";
import { turnMessagesQuery } from "../../api/sessions";
import { OutcomeBadge } from "../../components/badges";
import { ErrorPanel } from "../../components/ErrorPanel";
import { RowsSkeleton } from "../../components/Loading";
import { Money } from "../../components/Money";
import { PageLink } from "../../components/PageLink";
import { Redacted } from "../../components/Redacted";
import { Time } from "../../components/Time";
import { formatMoney } from "../../lib/money";
import { formatCount, formatDuration, plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { answerMessages, isChat, type Message, requestMessages } from "../requests/detail/conversation";
import { adjustmentLabels } from "../requests/detail/trace";
import { noteLabels } from "./figures";

type Turn = Schema["Turn"];

interface Props {
  session: string;
  turn: Turn;
  /** Cost of the session up to and including this turn. */
  total: string;
  /** Whether a link points to this turn. */
  marked: boolean;
}

/** One turn: its figures, what affected the model, and its new messages on demand. */
export function TurnView({ session, turn, total, marked }: Props) {
  const { may } = useSession();
  const [opened, setOpened] = useState(marked);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (marked) {
      box.current?.scrollIntoView({ block: "center" });
    }
  }, [marked]);
  const input = turn.tokens.input + turn.tokens.cache_read + turn.tokens.cache_write;
  return (
    <Paper
      ref={box}
      withBorder
      p="sm"
      role="group"
      aria-label={`Turn ${turn.number}`}
      bd={marked ? "1px solid var(--mantine-color-blue-6)" : undefined}
    >
      <Group justify="space-between" gap="xs" align="flex-start">
        <Group gap="xs">
          <Anchor component={PageLink} to="/requests/$id" params={{ id: turn.id }} size="sm" fw={600}>
            Turn {turn.number}
          </Anchor>
          <Text size="sm">{turn.model ?? turn.requested_model}</Text>
          {turn.outcome !== "ok" && <OutcomeBadge outcome={turn.outcome} status={turn.status} />}
          {turn.model_change && (
            <Badge size="sm" variant="outline" color="violet">
              was {turn.model_change.from}
            </Badge>
          )}
        </Group>
        <Group gap="sm">
          <Text size="sm" component="div">
            <Money amount={turn.cost_usd} />
          </Text>
          <Text size="sm" c="dimmed" ff="monospace">
            Total {formatMoney(total)}
          </Text>
        </Group>
      </Group>
      <Text size="xs" c="dimmed" component="div">
        <Time at={turn.time} /> · {formatCount(input)} in ({formatCount(turn.tokens.cache_read)} cached),{" "}
        {formatCount(turn.tokens.output)} out · {formatDuration(turn.latency_ms)}
        {turn.gap_ms != null && ` · ${formatDuration(turn.gap_ms)} after the previous turn`}
        {turn.baseline_cost_usd != null && ` · baseline ${formatMoney(turn.baseline_cost_usd)}`}
      </Text>
      {turn.notes.map((note, i) => (
        <Text key={i} size="sm" mt={4}>
          <strong>{adjustmentLabels[note.code] ?? noteLabels[note.code] ?? note.code}:</strong> {note.reason}
        </Text>
      ))}
      {turn.error && (
        <Text size="sm" mt={4} c="red">
          {turn.error.message || turn.error.code}
        </Text>
      )}
      {may("read_bodies") && (
        <Button
          mt={4}
          size="compact-xs"
          variant="default"
          aria-expanded={opened}
          onClick={() => setOpened(!opened)}
        >
          {opened ? "Hide new messages" : "Show new messages"}
        </Button>
      )}
      {may("read_bodies") && may("use_playground") && isChat(turn.endpoint) && (
        <Button
          mt={4}
          ml={6}
          size="compact-xs"
          variant="default"
          component={PageLink}
          to="/playground"
          search={{ request: turn.id, compare: "1" }}
        >
          Run on other models
        </Button>
      )}
      {opened && may("read_bodies") && <NewMessages session={session} request={turn.id} />}
    </Paper>
  );
}

function NewMessages({ session, request }: { session: string; request: string }) {
  const { data, error, refetch } = useQuery(turnMessagesQuery(session, request));
  if (error) {
    return <ErrorPanel what="Could not load messages" error={error} onRetry={() => void refetch()} />;
  }
  if (!data) {
    return <RowsSkeleton rows={2} height={40} />;
  }
  if (data.state !== "stored") {
    return (
      <Text size="sm" c="dimmed" mt="xs">
        {data.reason}
      </Text>
    );
  }
  const prompts = requestMessages(data.request) ?? [];
  const answers = answerMessages(data.response, data.streamed) ?? [];
  return (
    <Stack gap="xs" mt="xs">
      {data.known > 0 && (
        <Text size="xs" c="dimmed">
          {plural(data.known, "earlier message")} not shown
        </Text>
      )}
      {data.previous !== "stored" && data.previous !== "first" && (
        <Text size="xs" c="dimmed">
          All messages are shown because the previous turn is not available
          {data.previous === "expired" || data.previous === "deleted" ? " any more" : ""}.
        </Text>
      )}
      {data.missing_parts > 0 && (
        <Text size="xs" c="dimmed">
          {data.reason}
        </Text>
      )}
      {[...prompts, ...answers].map((message, i) => (
        <MessageView key={i} message={message} />
      ))}
    </Stack>
  );
}

/** A message. Tool results and tool calls are folded. */
function MessageView({ message }: { message: Message }) {
  return (
    <Box>
      <Text size="xs" fw={600} c="dimmed">
        {message.role}
      </Text>
      {message.parts.map((part, i) => {
        if (part.kind === "call") {
          return (
            <Fold key={i} label={`Tool call: ${part.name}`}>
              <Code block>
                <Redacted text={part.args} />
              </Code>
            </Fold>
          );
        }
        if (part.kind === "other" || part.kind === "image") {
          return (
            <Text key={i} size="sm" c="dimmed" fs="italic">
              [{part.label}]
            </Text>
          );
        }
        return message.role === "tool" ? (
          <Fold key={i} label={`Tool result: ${plural(part.text.length, "character")}`}>
            <Code block>
              <Redacted text={part.text} />
            </Code>
          </Fold>
        ) : (
          <Text
            key={i}
            size="sm"
            component="div"
            style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}
          >
            <Redacted text={part.text} />
          </Text>
        );
      })}
    </Box>
  );
}

function Fold({ label, children }: { label: string; children: React.ReactNode }) {
  const [opened, setOpened] = useState(false);
  return (
    <Box>
      <Button size="compact-xs" variant="default" aria-expanded={opened} onClick={() => setOpened(!opened)}>
        {label}
      </Button>
      <Collapse expanded={opened}>{children}</Collapse>
    </Box>
  );
}
