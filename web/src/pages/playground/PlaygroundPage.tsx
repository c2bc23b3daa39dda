import { ActionIcon, Alert, Anchor, Button, Group, Paper, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { modelsQuery } from "../../api/queries";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { plural } from "../../lib/numbers";
import { useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { CodeDialog } from "./CodeDialog";
import { CompareTotals } from "./CompareTotals";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { bodyOf, type Fault, type Message, messagesOf, noParameters, type Replay } from "./draft";
import { chatModels, ModelSelect } from "./ModelSelect";
import classes from "./playground.module.css";
import { isRunning } from "./run";
import { RunFacts } from "./RunFacts";
import { OpenRequest, RunPanel } from "./RunPanel";
import { type Chat, useChat } from "./useChat";
import { useReplay } from "./useReplay";

/** Maximum number of columns in a comparison. */
const maxColumns = 3;

interface Column {
  id: string;
  model: string;
}

/** Sends prompts on the dashboard session to one model, or to several for comparison. */
export function PlaygroundPage() {
  const { may } = useSession();
  const [search] = useSearchParams();
  const replay = useReplay(search["request"]);
  if (!may("use_playground")) {
    return (
      <>
        <PageHeader title="Playground" />
        <EmptyState icon="ban" title="You don’t have access to the playground">
          Playground requests are billed to the workspace. Ask an owner or admin for the developer role.
        </EmptyState>
      </>
    );
  }
  if (replay.pending) {
    return <PageHeader title="Playground" />;
  }
  return (
    <Playground
      key={search["request"]}
      start={replay.start}
      problem={replay.problem}
      model={search["model"]}
    />
  );
}

interface Props {
  start?: Replay;
  /** Why a stored request could not be opened. */
  problem?: string;
  model?: string;
}

function Playground({ start, problem, model }: Props) {
  const models = useQuery(modelsQuery);
  const chat = useChat();
  const draft = useDraft(start, model);
  const [code, setCode] = useState<object>();
  const { server } = useSession();
  const navigate = useNavigate();
  const compare = draft.columns.length > 1;
  const last = chat.turns.at(-1);
  const running = Object.values(last?.runs ?? {}).some(isRunning);
  const simulated = chatModels(models.data?.models).filter((m) => m.targets.some((t) => t.simulated));
  const body = (column: Column, prompt: string) =>
    bodyOf(
      column.model,
      messagesOf(chat.turns, column.id, { system: draft.parameters.system, earlier: draft.earlier }, prompt),
      draft.parameters,
      simulated.length > 0 ? draft.fault : undefined,
    );
  // "This request" is the prompt being written, otherwise the last one that was sent.
  const currentBody = () => body(draft.columns[0] as Column, draft.prompt.trim() || last?.prompt || "Hello");
  const send = () => {
    chat.send(
      draft.prompt,
      Object.fromEntries(draft.columns.map((column) => [column.id, body(column, draft.prompt)])),
    );
    draft.setPrompt("");
  };
  return (
    <>
      <PageHeader
        title="Playground"
        description="Try prompts against the router or a single model. No API key needed; usage is billed to this workspace."
        actions={<Actions chat={chat} draft={draft} onCode={() => setCode(currentBody())} />}
      />
      {models.error && (
        <ErrorPanel what="Could not load models" error={models.error} onRetry={() => void models.refetch()} />
      )}
      <Notes start={start} problem={problem} earlier={draft.earlier} onRemoveEarlier={draft.removeEarlier} />
      <div className={classes.page} data-compare={compare || undefined}>
        <div>
          <div className={classes.columns}>
            {draft.columns.map((column, i) => (
              <Stack key={column.id} gap="xs">
                <Group gap={6} wrap="nowrap">
                  <div style={{ flex: 1 }}>
                    <ModelSelect
                      label={compare ? `Model in column ${i + 1}` : "Model"}
                      models={models.data?.models}
                      value={column.model}
                      onChange={(name) => draft.setModel(column.id, name)}
                    />
                  </div>
                  {compare && (
                    <ActionIcon
                      variant="subtle"
                      color="gray"
                      aria-label={`Remove column ${i + 1}`}
                      onClick={() => draft.remove(column.id)}
                    >
                      <Icon name="x" />
                    </ActionIcon>
                  )}
                </Group>
                <Conversation
                  turns={chat.turns}
                  column={column.id}
                  label={`Conversation with ${column.model}`}
                />
                {compare && <ColumnFacts turns={chat.turns} column={column} />}
              </Stack>
            ))}
          </div>
          <Composer
            prompt={draft.prompt}
            onPrompt={draft.setPrompt}
            parameters={draft.parameters}
            onParameters={(change) => draft.setParameters({ ...draft.parameters, ...change })}
            fault={simulated.length > 0 ? draft.fault : undefined}
            onFault={draft.setFault}
            simulated={simulated.map((m) => m.name)}
            running={running}
            onSend={send}
            onStop={chat.stop}
          />
        </div>
        {compare ? (
          <CompareTotals columns={draft.columns} turns={chat.turns} />
        ) : (
          <RunPanel
            run={last?.runs[draft.columns[0]?.id ?? ""]}
            onExplain={() =>
              void navigate({
                to: "/routing/policies",
                state: { dryRun: JSON.stringify(currentBody(), null, 2) } as never,
              })
            }
          />
        )}
      </div>
      <CodeDialog body={code} publicUrl={server.public_url} onClose={() => setCode(undefined)} />
    </>
  );
}

/** The state of the composer: columns, prompt, parameters and fault. */
function useDraft(start: Replay | undefined, model: string | undefined) {
  const [columns, setColumns] = useState<Column[]>([{ id: "1", model: start?.model ?? model ?? "auto" }]);
  const [prompt, setPrompt] = useState(start?.prompt ?? "");
  const [parameters, setParameters] = useState(start?.parameters ?? noParameters);
  const [earlier, setEarlier] = useState<Message[]>(start?.earlier ?? []);
  const [fault, setFault] = useState<Fault>({ name: "", model: "" });
  return {
    columns,
    prompt,
    parameters,
    earlier,
    fault,
    setPrompt,
    setParameters,
    setFault,
    removeEarlier: () => setEarlier([]),
    setModel: (id: string, name: string) =>
      setColumns(columns.map((c) => (c.id === id ? { ...c, model: name } : c))),
    add: (name: string) =>
      setColumns([
        ...columns,
        { id: String(Math.max(...columns.map((c) => Number(c.id))) + 1), model: name },
      ]),
    remove: (id: string) => setColumns(columns.filter((c) => c.id !== id)),
  };
}

function Actions({
  chat,
  draft,
  onCode,
}: {
  chat: Chat;
  draft: ReturnType<typeof useDraft>;
  onCode: () => void;
}) {
  const models = useQuery(modelsQuery);
  const full = draft.columns.length >= maxColumns;
  const add = () => {
    const used = new Set(draft.columns.map((column) => column.model));
    const other = chatModels(models.data?.models).find((m) => !used.has(m.name));
    draft.add(used.has("auto") ? (other?.name ?? "auto") : "auto");
  };
  return (
    <>
      <Button
        size="xs"
        variant="default"
        leftSection={<Icon name="columns" size={14} />}
        disabled={full}
        onClick={add}
      >
        {draft.columns.length === 1 ? "Compare" : "Add column"}
      </Button>
      <Button size="xs" variant="default" leftSection={<Icon name="copy" size={14} />} onClick={onCode}>
        Copy code
      </Button>
      <Button
        size="xs"
        variant="default"
        leftSection={<Icon name="trash" size={14} />}
        disabled={chat.turns.length === 0}
        onClick={chat.clear}
      >
        Clear
      </Button>
    </>
  );
}

function ColumnFacts({ turns, column }: { turns: Chat["turns"]; column: Column }) {
  const run = turns.findLast((turn) => turn.runs[column.id])?.runs[column.id];
  return (
    <Paper withBorder p="xs">
      {run && (
        <Stack gap="xs">
          <RunFacts run={run} />
          <OpenRequest run={run} />
        </Stack>
      )}
    </Paper>
  );
}

function Notes(props: { start?: Replay; problem?: string; earlier: Message[]; onRemoveEarlier: () => void }) {
  const count = props.earlier.length;
  return (
    <Stack gap="xs" mb={props.problem || count > 0 || props.start?.lossy ? "sm" : 0}>
      {props.problem && (
        <Alert color="yellow" variant="outline" icon={<Icon name="alert" size={16} />}>
          {props.problem}{" "}
          <Anchor component={PageLink} to="/playground" size="sm">
            Start a new chat
          </Anchor>
        </Alert>
      )}
      {count > 0 && (
        <Alert color="cyan" variant="outline" py={6} icon={<Icon name="history" size={16} />}>
          Includes {plural(count, "earlier message")} from the stored request.{" "}
          <Anchor component="button" type="button" size="sm" onClick={props.onRemoveEarlier}>
            Remove
          </Anchor>
        </Alert>
      )}
      {props.start?.lossy && (
        <Alert color="yellow" variant="outline" py={6} icon={<Icon name="alert" size={16} />}>
          The stored prompt had non-text parts, such as images. The playground sends text only.
        </Alert>
      )}
    </Stack>
  );
}
