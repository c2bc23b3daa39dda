import { ActionIcon, Alert, Anchor, Button, Group, Paper, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { modelsQuery } from "../../api/queries";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { Money } from "../../components/Money";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { Tokens } from "../../components/Tokens";
import { formatDuration, plural } from "../../lib/numbers";
import { useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { CodeDialog } from "./CodeDialog";
import { CompareTotals, type TotalsColumn } from "./CompareTotals";
import { Composer } from "./Composer";
import { Conversation, type Shown, shownRun } from "./Conversation";
import { Differences } from "./Differences";
import {
  bodyOf,
  type Fault,
  type Message,
  messagesOf,
  noParameters,
  promptOf,
  type Replay,
  runsOf,
  type Turn,
} from "./draft";
import { chatModels, ModelSelect } from "./ModelSelect";
import classes from "./playground.module.css";
import { type Planned, RepeatDialog } from "./RepeatDialog";
import type { Run } from "./run";
import { RunFacts } from "./RunFacts";
import { OpenRequest, RunPanel } from "./RunPanel";
import { costsOf, maxRepeats, ratioOf, timesOf } from "./spread";
import { type Chat, useChat } from "./useChat";
import { type Logged, type ReplayState, useReplay } from "./useReplay";

/** Maximum number of columns that send requests. */
const maxColumns = 3;

/** The id of the column with the logged response. This column sends no requests. */
const loggedColumn = "logged";

interface Column {
  id: string;
  model: string;
}

/** Sends prompts on the dashboard session to one model, or to several for comparison. */
export function PlaygroundPage() {
  const { may } = useSession();
  const [search] = useSearchParams();
  const replay = useReplay(search["request"], search["compare"] === "1");
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
      key={`${search["request"]} ${search["compare"]}`}
      start={replay.start}
      logged={replay.logged}
      problem={replay.problem}
      models={startModels(search, replay)}
    />
  );
}

/**
 * The models of the first columns: the models in the URL, the runners-up of a logged request, or the model of a stored
 * request.
 */
function startModels(search: Record<string, string | undefined>, { start, logged }: ReplayState): string[] {
  const named = (search["models"] ?? search["model"] ?? "").split(",").filter(Boolean).slice(0, maxColumns);
  if (named.length > 0) {
    return named;
  }
  if (logged) {
    return logged.runnersUp.length > 0 ? logged.runnersUp : ["auto"];
  }
  return [start?.model ?? "auto"];
}

interface Props {
  start?: Replay;
  /** The logged response that the other columns are compared with. */
  logged?: Logged;
  /** Why a stored request could not be opened, or which parts are missing. */
  problem?: string;
  models: string[];
}

function Playground({ start, logged, problem, models: first }: Props) {
  const models = useQuery(modelsQuery);
  const chat = useChat();
  const draft = useDraft(start, first);
  const [code, setCode] = useState<object>();
  const [planned, setPlanned] = useState<Planned>();
  const [shown, setShown] = useState<Shown>({});
  const [chosen, setBaseline] = useState<string>();
  const { server } = useSession();
  const navigate = useNavigate();
  const last = chat.turns.at(-1);
  const running = last?.running ?? false;
  const simulated = chatModels(models.data?.models).filter((m) => m.targets.some((t) => t.simulated));
  const columns = columnsOf(draft.columns, logged);
  const compare = columns.length > 1;
  const baseline = columns.find((column) => column.id === chosen)?.id ?? columns[0]?.id ?? "";
  // Only the first prompt can be equal to the prompt of the stored request.
  const promptOfText = (text: string) => promptOf(text, chat.turns.length === 0 ? start : undefined);
  const body = (column: Column, prompt: string) =>
    bodyOf(
      column.model,
      messagesOf(
        chat.turns,
        column.id,
        { system: draft.parameters.system, earlier: draft.earlier },
        promptOfText(prompt),
      ),
      draft.parameters,
      simulated.length > 0 ? draft.fault : undefined,
      start?.settings,
    );
  // The current request is the prompt in the input field, or the last prompt that was sent if the field is empty.
  const currentBody = () =>
    body(draft.columns[0] as Column, draft.prompt.trim() || last?.prompt.text || "Hello");
  const bodies = () =>
    Object.fromEntries(draft.columns.map((column) => [column.id, body(column, draft.prompt)]));
  const send = () => {
    const prompt = promptOfText(draft.prompt);
    chat.send(prompt, {
      bodies: bodies(),
      repeats: draft.repeats,
      known: logged && prompt === start?.stored ? { [loggedColumn]: logged.run } : undefined,
    });
    setPlanned(undefined);
    draft.setPrompt("");
  };
  const plan = () =>
    setPlanned({
      repeats: draft.repeats,
      columns: draft.columns.map((column) => ({ label: column.model, body: body(column, draft.prompt) })),
    });
  const comparison = (
    <>
      <CompareTotals columns={columns} turns={chat.turns} baseline={baseline} onBaseline={setBaseline} />
      <Differences
        columns={columns}
        baseline={baseline}
        runOf={(column) => shownRun(last, column, shown)}
        repeatsOf={(column) => (last ? runsOf(last, column) : [])}
      />
    </>
  );
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
      <Notes
        start={start}
        problem={problem}
        unedited={chat.turns.length > 0 || draft.prompt === start?.prompt}
        earlier={draft.earlier}
        onRemoveEarlier={draft.removeEarlier}
      />
      <div className={classes.page} data-compare={compare || undefined}>
        <div>
          <div className={classes.columns}>
            {logged && <LoggedColumn logged={logged} prompt={start?.prompt ?? ""} />}
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
                  {draft.columns.length > 1 && (
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
                  shown={shown}
                  onShow={(change) => setShown({ ...shown, ...change })}
                />
                {compare && <ColumnFacts turn={last} column={column.id} baseline={baseline} shown={shown} />}
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
            repeats={draft.typedRepeats}
            onRepeats={draft.setRepeats}
            running={running}
            onSend={draft.repeats > 1 ? plan : send}
            onStop={chat.stop}
          />
          {!compare && chat.turns.some((turn) => turn.repeats > 1) && <Stack gap="md">{comparison}</Stack>}
        </div>
        {compare ? (
          <Stack gap="md">{comparison}</Stack>
        ) : (
          <RunPanel
            run={shownRun(last, draft.columns[0]?.id ?? "", shown)}
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
      <RepeatDialog planned={planned} onRun={send} onClose={() => setPlanned(undefined)} />
    </>
  );
}

/** The columns with their names, the logged response first. */
function columnsOf(columns: Column[], logged: Logged | undefined): TotalsColumn[] {
  const sent = columns.map(({ id, model }) => ({ id, label: model }));
  return logged ? [{ id: loggedColumn, label: `Logged: ${logged.model}` }, ...sent] : sent;
}

/** The state of the composer: columns, prompt, parameters, repeats and fault. */
function useDraft(start: Replay | undefined, models: string[]) {
  const [columns, setColumns] = useState<Column[]>(models.map((model, i) => ({ id: String(i + 1), model })));
  const [prompt, setPrompt] = useState(start?.prompt ?? "");
  const [parameters, setParameters] = useState(start?.parameters ?? noParameters);
  const [earlier, setEarlier] = useState<Message[]>(start?.earlier ?? []);
  const [fault, setFault] = useState<Fault>({ name: "", model: "" });
  const [typedRepeats, setRepeats] = useState<number | "">(1);
  return {
    columns,
    prompt,
    parameters,
    earlier,
    fault,
    typedRepeats,
    repeats: Math.min(Math.max(typedRepeats || 1, 1), maxRepeats),
    setPrompt,
    setParameters,
    setFault,
    setRepeats,
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

function ColumnFacts(props: { turn: Turn | undefined; column: string; baseline: string; shown: Shown }) {
  const { turn, column, baseline, shown } = props;
  const run = shownRun(turn, column, shown);
  const ratio = (figure: (runs: Run[]) => number[]) => turn && ratioOf([turn], column, baseline, figure);
  return (
    <Paper withBorder p="xs">
      {run && (
        <Stack gap="xs">
          <RunFacts
            run={run}
            comparison={{ cost: ratio(costsOf), time: ratio(timesOf), isBaseline: column === baseline }}
          />
          <OpenRequest run={run} />
        </Stack>
      )}
    </Paper>
  );
}

/** The logged response. It is compared with the other columns and never sent again. */
function LoggedColumn({ logged, prompt }: { logged: Logged; prompt: string }) {
  const turn: Turn = {
    id: 0,
    prompt: { text: prompt },
    runs: { [loggedColumn]: logged.run },
    more: {},
    repeats: 1,
    running: false,
  };
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600} lh="30px" truncate>
        Logged: {logged.model}
      </Text>
      <Conversation
        turns={[turn]}
        column={loggedColumn}
        label="Logged response"
        shown={{}}
        onShow={() => undefined}
      />
      <Paper withBorder p="xs">
        <Stack gap="xs">
          <LoggedFacts run={logged.run} />
          <OpenRequest run={logged.run} />
        </Stack>
      </Paper>
    </Stack>
  );
}

function LoggedFacts({ run }: { run: Run }) {
  return (
    <dl className={classes.facts}>
      <dt>Total</dt>
      <dd>{formatDuration(run.totalMs)}</dd>
      <dt>Tokens in / out</dt>
      <dd>
        {run.facts.tokens && <Tokens tokens={{ estimated: false, searches: 0, ...run.facts.tokens }} />}
      </dd>
      <dt>Cost</dt>
      <dd>
        <Money amount={run.facts.cost} paid />
      </dd>
    </dl>
  );
}

interface NotesProps {
  start?: Replay;
  problem?: string;
  /** Whether the stored prompt is sent unchanged. */
  unedited: boolean;
  earlier: Message[];
  onRemoveEarlier: () => void;
}

function Notes({ start, problem, unedited, earlier, onRemoveEarlier }: NotesProps) {
  const count = earlier.length;
  const after = start?.stored.after?.length ?? 0;
  const settings = Object.keys(start?.settings ?? {});
  const notes = [
    start?.otherParts &&
      (unedited
        ? "The prompt has parts other than text, such as images. They are sent only if you don’t edit the prompt."
        : "The edited prompt is sent as text only, without its other parts, such as images."),
    after > 0 &&
      (unedited
        ? `Includes ${plural(after, "message")} after the prompt, such as tool results.`
        : `The edited prompt is sent without the ${plural(after, "message")} after it, such as tool results.`),
    settings.length > 0 && `Also sends the stored ${settings.join(", ")}.`,
    start?.redacted && "The stored text is redacted. Models receive the redacted text.",
  ].filter((note) => typeof note === "string");
  return (
    <Stack gap="xs" mb={problem || count > 0 || notes.length > 0 ? "sm" : 0}>
      {problem && (
        <Alert color="yellow" variant="outline" icon={<Icon name="alert" size={16} />}>
          {problem}{" "}
          <Anchor component={PageLink} to="/playground" size="sm">
            Start a new chat
          </Anchor>
        </Alert>
      )}
      {count > 0 && (
        <Alert color="cyan" variant="outline" py={6} icon={<Icon name="history" size={16} />}>
          Includes {plural(count, "earlier message")} from the stored request.{" "}
          <Anchor component="button" type="button" size="sm" onClick={onRemoveEarlier}>
            Remove
          </Anchor>
        </Alert>
      )}
      {notes.length > 0 && (
        <Alert color="yellow" variant="outline" py={6} icon={<Icon name="alert" size={16} />}>
          {notes.join(" ")}
        </Alert>
      )}
    </Stack>
  );
}
