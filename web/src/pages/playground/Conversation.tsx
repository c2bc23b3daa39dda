import { ActionIcon, Alert, Anchor, Box, Code, Group, Paper, Spoiler, Stack, Text } from "@mantine/core";
import { useEffect, useRef } from "react";

import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { LongText } from "../../components/LongText";
import { PageLink } from "../../components/PageLink";
import { runsOf, type Turn } from "./draft";
import classes from "./playground.module.css";
import { RateRun } from "./RateRun";
import { isRunning, type Run } from "./run";

/** The index of the shown response by turn and column; the first one by default. */
export type Shown = Record<string, number>;

/** The response of a column that is shown for a turn. */
export function shownRun(turn: Turn | undefined, column: string, shown: Shown): Run | undefined {
  return turn && runsOf(turn, column)[shown[`${turn.id}/${column}`] ?? 0];
}

interface Props {
  turns: Turn[];
  column: string;
  label: string;
  shown: Shown;
  onShow: (change: Shown) => void;
}

/** The prompts and responses of one column. Responses are shown as plain text, never as HTML. */
export function Conversation({ turns, column, label, shown, onShow }: Props) {
  const log = useRef<HTMLDivElement>(null);
  const answered = turns.filter((turn) => turn.runs[column]);
  const last = answered.at(-1)?.runs[column];
  useEffect(() => {
    const box = log.current;
    // Follow the response only while the log is scrolled to its end.
    if (box && box.scrollHeight - box.scrollTop - box.clientHeight < 120) {
      box.scrollTop = box.scrollHeight;
    }
  }, [last?.text, last?.state, answered.length]);
  return (
    <Paper withBorder>
      <div
        ref={log}
        className={classes.log}
        role="log"
        aria-label={label}
        aria-busy={isRunning(last)}
        tabIndex={0}
      >
        {answered.length === 0 ? (
          <Text c="dimmed" size="sm">
            Send a message to get started.
          </Text>
        ) : (
          <Stack gap="md">
            {answered.map((turn) => (
              <Stack key={turn.id} gap="xs">
                <div className={classes.prompt}>
                  <LongText text={turn.prompt.text} />
                </div>
                <Repeats turn={turn} column={column} shown={shown} onShow={onShow} />
                <Answer run={shownRun(turn, column, shown) ?? (turn.runs[column] as Run)} />
              </Stack>
            ))}
          </Stack>
        )}
      </div>
    </Paper>
  );
}

/** Selects one of the responses to a repeated prompt. */
function Repeats({
  turn,
  column,
  shown,
  onShow,
}: {
  turn: Turn;
  column: string;
  shown: Shown;
  onShow: (change: Shown) => void;
}) {
  const name = `${turn.id}/${column}`;
  const at = shown[name] ?? 0;
  const count = runsOf(turn, column).length;
  if (turn.repeats === 1 || count === 0) {
    return null;
  }
  const step = (by: number) => onShow({ [name]: at + by });
  return (
    <Group gap={6} role="group" aria-label="Responses">
      <ActionIcon
        size="sm"
        variant="default"
        aria-label="Previous response"
        disabled={at === 0}
        onClick={() => step(-1)}
      >
        <Icon name="chevronLeft" size={12} />
      </ActionIcon>
      <Text size="xs" c="dimmed" role="status">
        Response {at + 1} of {count}
        {turn.running && count < turn.repeats && `, ${turn.repeats} requested`}
      </Text>
      <ActionIcon
        size="sm"
        variant="default"
        aria-label="Next response"
        disabled={at + 1 >= count}
        onClick={() => step(1)}
      >
        <Icon name="chevronRight" size={12} />
      </ActionIcon>
    </Group>
  );
}

function Answer({ run }: { run: Run }) {
  return (
    <Stack gap="xs">
      {run.reasoning && (
        <Spoiler maxHeight={48} showLabel="Show reasoning" hideLabel="Show less">
          <Text size="sm" c="dimmed" className={classes.answer}>
            <LongText text={run.reasoning} />
          </Text>
        </Spoiler>
      )}
      {run.text && (
        <Box className={classes.answer}>
          <LongText text={isRunning(run) ? run.text : run.text.trimEnd()} />
        </Box>
      )}
      {run.calls.map((call, i) => (
        <div key={i}>
          <Group gap={6} mb={4}>
            <Icon name="settings" size={14} />
            <Text size="sm">
              Tool call: <strong>{call.name}</strong>
            </Text>
          </Group>
          <Code block>
            <LongText text={pretty(call.arguments)} />
          </Code>
        </div>
      ))}
      <Ending run={run} />
      <RateRun key={run.facts.requestId} run={run} />
    </Stack>
  );
}

function Ending({ run }: { run: Run }) {
  if (run.state === "waiting") {
    return (
      <Text size="sm" c="dimmed">
        {run.facts.model ? `Waiting for ${run.facts.model}…` : "Routing…"}
      </Text>
    );
  }
  if (run.state === "failed") {
    return (
      <div>
        <ErrorPanel what={run.text ? "Response interrupted" : "Request failed"} error={run.error} />
        {run.facts.requestId?.startsWith("req_") && (
          <Text size="sm" mt={4}>
            <Anchor component={PageLink} to="/requests/$id" params={{ id: run.facts.requestId }} size="sm">
              View attempts
            </Anchor>
          </Text>
        )}
      </div>
    );
  }
  if (run.state === "stopped") {
    return (
      <Alert color="gray" variant="outline" py={6} icon={<Icon name="stop" size={14} />}>
        Stopped. Generated tokens are charged.
      </Alert>
    );
  }
  if (run.finish === "length") {
    return (
      <Alert color="yellow" variant="outline" py={6} icon={<Icon name="alert" size={14} />}>
        Token limit reached.
      </Alert>
    );
  }
  return null;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
