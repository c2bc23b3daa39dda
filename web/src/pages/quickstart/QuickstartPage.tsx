import { Anchor, Button, Code, Group, Paper, Stack, Table, Text, ThemeIcon, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { keysQuery, providersQuery } from "../../api/queries";
import { policiesQuery } from "../../api/routing";
import { useTail } from "../../api/live";
import { CopyButton } from "../../components/CopyButton";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PageHeader } from "../../components/PageHeader";
import { SampleButton } from "../samples/SampleButton";
import { Section } from "../../components/Section";
import { Snippets } from "../../components/Snippets";
import { Time } from "../../components/Time";
import { formatCount, plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { baseUrlOf, firstBody } from "../../lib/snippets";
import { PageLink } from "../../components/PageLink";

/** From nothing to the first routed request: steps that tick themselves. */
export function QuickstartPage() {
  const { server } = useSession();
  const [secret, setSecret] = useState<string>();
  const baseUrl = baseUrlOf(server.public_url);
  return (
    <>
      <PageHeader
        title="Quickstart"
        description="Two changes make any client of the OpenAI format use Fairlead: base URL and API key."
      />
      <Stack gap="sm" maw={860}>
        <ProviderStep />
        <KeyStep secret={secret} onCreated={setSecret} />
        <RequestStep>
          <Snippets
            withEnvironment
            call={{ baseUrl, key: secret, endpoint: "chat/completions", body: firstBody }}
          />
        </RequestStep>
        <PolicyStep />
      </Stack>
      <Reference baseUrl={baseUrl} />
    </>
  );
}

interface StepProps {
  done: boolean;
  number: number;
  title: string;
  children?: ReactNode;
}

function Step({ done, number, title, children }: StepProps) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Group gap="sm" mb={children ? "xs" : 0}>
        <ThemeIcon
          radius="xl"
          size={28}
          color={done ? "green" : "gray"}
          variant={done ? "filled" : "default"}
          aria-hidden
        >
          {done ? <Icon name="check" /> : number}
        </ThemeIcon>
        <Title order={2} size="h3">
          {title}
        </Title>
        <Text size="xs" c="dimmed" role="status">
          {done ? "done" : "waiting"}
        </Text>
      </Group>
      {children}
    </Paper>
  );
}

function ProviderStep() {
  const { server } = useSession();
  const { data, error, refetch } = useQuery({ ...providersQuery, refetchInterval: 10_000 });
  const enabled = data?.providers.filter((p) => p.enabled && !p.simulated) ?? [];
  return (
    <Step number={1} done={enabled.length > 0 || server.simulated} title="A provider">
      {error && (
        <ErrorPanel what="The providers could not be loaded" error={error} onRetry={() => void refetch()} />
      )}
      {enabled.length > 0 ? (
        <Text size="sm">
          {plural(enabled.length, "provider")} ready: {enabled.map((p) => p.title || p.name).join(", ")}.
        </Text>
      ) : (
        server.simulated && (
          <Text size="sm">
            No provider key was found, so the <strong>simulator</strong> serves: several models with prices,
            streaming and faults, without network or cost. Set <Code>OPENAI_API_KEY</Code>,{" "}
            <Code>ANTHROPIC_API_KEY</Code> or another provider’s variable and start again to reach real
            models.
          </Text>
        )
      )}
    </Step>
  );
}

function KeyStep({ secret, onCreated }: { secret?: string; onCreated: (secret: string) => void }) {
  const mayCreate = useSession().may("manage_own_keys");
  const queryClient = useQueryClient();
  const { data } = useQuery(keysQuery);
  const active = data?.keys.filter((key) => key.state === "active") ?? [];
  const create = useMutation({
    mutationFn: () => must(api.POST("/keys", { body: { name: freeName(data?.keys ?? []) } })),
    onSuccess: (key) => {
      onCreated(key.secret);
      void queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
    },
  });
  return (
    <Step number={2} done={secret !== undefined || active.length > 0} title="An API key">
      {secret ? (
        <Group gap="xs">
          <Text size="sm">Created, and filled in below. It is shown only as long as this page is open:</Text>
          <Code>{secret}</Code>
          <CopyButton text={secret} />
        </Group>
      ) : (
        <Group gap="sm">
          <Text size="sm">
            {active.length > 0
              ? `There ${active.length === 1 ? "is" : "are"} ${plural(active.length, "key")}.`
              : "Servers call the model API with a key of this workspace."}
            {active.length > 0 && mayCreate && " A new one can be filled into the snippets below."}
          </Text>
          {mayCreate && (
            <Button
              size="xs"
              loading={create.isPending}
              leftSection={<Icon name="plus" size={14} />}
              onClick={() => create.mutate()}
            >
              Create a key
            </Button>
          )}
          <Anchor component={PageLink} to="/settings/keys" size="sm">
            API keys
          </Anchor>
        </Group>
      )}
      {create.error && <ErrorPanel what="The key was not created" error={create.error} />}
    </Step>
  );
}

/** The first of quickstart, quickstart-2, … that no key has. */
function freeName(keys: Schema["KeyView"][]): string {
  const taken = new Set(keys.map((key) => key.name));
  for (let n = 1; ; n++) {
    const name = n === 1 ? "quickstart" : `quickstart-${n}`;
    if (!taken.has(name)) {
      return name;
    }
  }
}

function RequestStep({ children }: { children: ReactNode }) {
  const { may, server } = useSession();
  const before = useQuery({
    queryKey: ["requests", "latest"],
    queryFn: () => must(api.GET("/requests", { params: { query: { limit: 1, from: "now-30d" } } })),
    enabled: may("read_requests"),
  });
  const [seen, setSeen] = useState<Schema["RequestRow"]>();
  const state = useTail({
    query: {},
    enabled: may("read_requests"),
    onBatch: (batch) =>
      setSeen(
        (last) => batch.requests.findLast((row) => row.state === "done") ?? batch.requests.at(-1) ?? last,
      ),
  });
  const row = seen ?? before.data?.requests[0];
  return (
    <Step number={3} done={row !== undefined} title="The first request">
      <Text size="sm" mb="xs">
        Paste one of these. This page listens and reacts as soon as the request arrives.
      </Text>
      {children}
      <Group gap="xs" mt="sm" role="status">
        <Icon name={row ? "check" : "activity"} />
        {row ? (
          <Text size="sm">
            {seen ? "Seen" : "Latest"} <Time at={row.time} as="age" />: {row.requested_model} →{" "}
            {row.model ?? "no model"}.{" "}
            <Anchor component={PageLink} to="/requests/$id" params={{ id: row.id }}>
              See how it was routed
            </Anchor>
          </Text>
        ) : (
          <Text size="sm" c="dimmed">
            {state === "live"
              ? "Listening for the first request…"
              : state === "paused"
                ? "Not listening: Live in the top bar is paused."
                : "Connecting…"}
          </Text>
        )}
      </Group>
      {server.samples && may("manage_workspace") && (
        <Group gap="sm" mt="md">
          <SampleButton />
          <Text size="sm" c="dimmed">
            No client at hand? The simulator can answer a varied set of requests, marked as simulated.
            Settings → Data removes them.
          </Text>
        </Group>
      )}
    </Step>
  );
}

function PolicyStep() {
  const { may } = useSession();
  const { data } = useQuery({ ...policiesQuery, enabled: may("read_policies") });
  const count = (data?.workspace.policies.length ?? 0) + (data?.instance.policies.length ?? 0);
  if (!may("read_policies")) {
    return null;
  }
  return (
    <Step number={4} done={count > 0} title="The first policy">
      <Text size="sm">
        {count > 0
          ? `${count === 1 ? "There is 1 policy" : `There are ${formatCount(count)} policies`}. A dry run says what a change would do before it is saved.`
          : "Until there is one, the router chooses by score alone. A policy pins, prefers, leaves out or refuses models, or sets a limit."}{" "}
        <Anchor component={PageLink} to="/routing/policies">
          Policies
        </Anchor>
      </Text>
    </Step>
  );
}

const headers: [string, string][] = [
  ["x-request-id", "the id of the request in this dashboard"],
  ["x-fairlead-decision", "expected, fallback or policy"],
  ["x-fairlead-model, x-fairlead-provider", "what served"],
  ["x-fairlead-attempts", "how many targets were tried"],
  ["x-fairlead-cost, x-fairlead-baseline-cost", "dollars, when known before the body"],
];

function Reference({ baseUrl }: { baseUrl: string }) {
  return (
    <Stack gap={0} maw={860} mt="xl">
      <Section title="What comes back">
        <Table aria-label="Headers of every answer">
          <Table.Tbody>
            {headers.map(([name, meaning]) => (
              <Table.Tr key={name}>
                <Table.Td>
                  <Code>{name}</Code>
                </Table.Td>
                <Table.Td>{meaning}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Section>
      <Section title="Errors">
        <Text size="sm">
          Every error is{" "}
          <Code>{'{"error": "a sentence to act on", "code": "RATE_LIMITED", "details": {…}}'}</Code>.{" "}
          <Code>details.origin</Code> says who failed: client, gateway, policy or provider. The model list is
          at <Code>{`${baseUrl}/models`}</Code>.
        </Text>
      </Section>
    </Stack>
  );
}
