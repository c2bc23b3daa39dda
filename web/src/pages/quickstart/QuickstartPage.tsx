import { Anchor, Button, Code, Group, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { keysQuery, priceRefreshQuery, providersQuery } from "../../api/queries";
import { policiesQuery } from "../../api/routing";
import { useTail } from "../../api/live";
import { CopyButton } from "../../components/CopyButton";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PageHeader } from "../../components/PageHeader";
import { Section } from "../../components/Section";
import { Snippets } from "../../components/Snippets";
import { Time } from "../../components/Time";
import { formatCount, plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { baseUrlOf, exampleBody } from "../../lib/snippets";
import { PageLink } from "../../components/PageLink";
import { RefreshQuestion } from "../models/PriceRefresh";
import { ConnectDialog } from "../providers/ConnectDialog";
import { AgentCommand } from "./AgentCommand";
import { BaselineStep } from "./BaselineStep";
import { Step } from "./Step";

/** The steps to the first routed request, which complete automatically. */
export function QuickstartPage() {
  const { server } = useSession();
  const [secret, setSecret] = useState<string>();
  const baseUrl = baseUrlOf(server.public_url);
  return (
    <>
      <PageHeader
        title="Quickstart"
        description="Change the base URL and the API key of any OpenAI client."
      />
      <Stack gap="sm" maw={860}>
        <ProviderStep />
        <BaselineStep number={2} />
        <KeyStep secret={secret} onCreated={setSecret} />
        <RequestStep>
          <AgentCommand baseUrl={baseUrl} secret={secret} />
          <Snippets
            withEnvironment
            call={{ baseUrl, key: secret, endpoint: "chat/completions", body: exampleBody }}
          />
        </RequestStep>
        <PolicyStep />
        <RefreshStep />
      </Stack>
      <Reference baseUrl={baseUrl} />
    </>
  );
}

function ProviderStep() {
  const { server, may } = useSession();
  const { data, error, refetch } = useQuery({ ...providersQuery, refetchInterval: 10_000 });
  const [connecting, setConnecting] = useState(false);
  const enabled = data?.providers.filter((p) => p.enabled && !p.simulated) ?? [];
  return (
    <Step
      number={1}
      done={enabled.length > 0 || server.simulated}
      title={server.simulated && enabled.length === 0 ? "Simulator ready" : "Provider connected"}
    >
      {error && <ErrorPanel what="Could not load providers" error={error} onRetry={() => void refetch()} />}
      <Group gap="sm">
        <Text size="sm" flex="1 1 320px">
          {enabled.length > 0 ? (
            `${plural(enabled.length, "provider")} connected: ${enabled.map((p) => p.title || p.name).join(", ")}.`
          ) : server.simulated ? (
            <>
              You’re using the <strong>simulator</strong>: several models with prices, streaming and failures,
              without network access or cost. Connect a provider to get real responses.
            </>
          ) : (
            "Connect a provider to route requests to its models."
          )}
        </Text>
        {may("connect_providers") && (
          <Button
            size="xs"
            variant={enabled.length > 0 ? "default" : "filled"}
            leftSection={<Icon name="plus" size={14} />}
            onClick={() => setConnecting(true)}
          >
            {enabled.length > 0 ? "Connect another" : "Connect provider"}
          </Button>
        )}
      </Group>
      <ConnectDialog opened={connecting} onClose={() => setConnecting(false)} />
    </Step>
  );
}

function RefreshStep() {
  const { data } = useQuery(priceRefreshQuery);
  if (!data) {
    return null;
  }
  return (
    <Step number={6} done={data.refresh !== ""} title="Keep prices and models current?">
      <RefreshQuestion />
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
    <Step number={3} done={secret !== undefined || active.length > 0} title="Key created">
      {secret ? (
        <Group gap="xs">
          <Text size="sm">Your key is filled in below. It is only shown while this page is open:</Text>
          <Code>{secret}</Code>
          <CopyButton text={secret} />
        </Group>
      ) : (
        <Group gap="sm">
          <Text size="sm">
            {active.length > 0
              ? `This workspace has ${plural(active.length, "key")}.`
              : "Use a key to call the API from your servers."}
            {active.length > 0 && mayCreate && " Create another one to fill in the snippets below."}
          </Text>
          {mayCreate && (
            <Button
              size="xs"
              loading={create.isPending}
              leftSection={<Icon name="plus" size={14} />}
              onClick={() => create.mutate()}
            >
              Create key
            </Button>
          )}
          <Anchor component={PageLink} to="/settings/keys" size="sm">
            API keys
          </Anchor>
        </Group>
      )}
      {create.error && <ErrorPanel what="Could not create the key" error={create.error} />}
    </Step>
  );
}

/** The first unused name of quickstart, quickstart-2, … */
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
  const { may } = useSession();
  const before = useQuery({
    queryKey: ["requests", "latest"],
    queryFn: () => must(api.GET("/requests", { params: { query: { limit: 1, from: "now-30d" } } })),
    enabled: may("read_requests"),
  });
  const [received, setReceived] = useState<Schema["RequestRow"]>();
  const state = useTail({
    query: {},
    enabled: may("read_requests"),
    onBatch: (batch) =>
      setReceived(
        (last) => batch.requests.findLast((row) => row.state === "done") ?? batch.requests.at(-1) ?? last,
      ),
  });
  const row = received ?? before.data?.requests[0];
  return (
    <Step number={4} done={row !== undefined} title="First request received">
      <Text size="sm" mb="xs">
        Connect a coding agent or run one of the snippets. This page updates when the request arrives.
      </Text>
      {children}
      <Group gap="xs" mt="sm" role="status">
        <Icon name={row ? "check" : "activity"} />
        {row ? (
          <Text size="sm">
            {received ? "Received" : "Latest request"} <Time at={row.time} as="age" />: {row.requested_model}{" "}
            → {row.model ?? "no model"}.{" "}
            <Anchor component={PageLink} to="/requests/$id" params={{ id: row.id }}>
              View request
            </Anchor>
          </Text>
        ) : (
          <Text size="sm" c="dimmed">
            {state === "live"
              ? "Waiting for the first request…"
              : state === "paused"
                ? "Live updates are paused. Resume them in the top bar."
                : "Connecting…"}
          </Text>
        )}
      </Group>
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
    <Step number={5} done={count > 0} title="First policy created">
      <Text size="sm">
        {count > 0
          ? `${count === 1 ? "1 active policy" : `${formatCount(count)} active policies`}. Use a dry run to test changes before saving them.`
          : "Policies pin, prefer, exclude or deny models, or set limits. Without one, the router chooses by score only."}{" "}
        <Anchor component={PageLink} to="/routing/policies">
          Policies
        </Anchor>
      </Text>
    </Step>
  );
}

const headers: [string, string][] = [
  ["x-request-id", "Request ID, to find the request in this dashboard"],
  ["x-fairlead-decision", "expected, fallback or policy"],
  ["x-fairlead-model, x-fairlead-provider", "Model and provider that served the request"],
  ["x-fairlead-attempts", "Number of attempts"],
  ["x-fairlead-cost, x-fairlead-baseline-cost", "Cost in dollars, if known before the body is sent"],
];

function Reference({ baseUrl }: { baseUrl: string }) {
  return (
    <Stack gap={0} maw={860} mt="xl">
      <Section title="Response headers">
        <Table aria-label="Response header list">
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
          Every error has the form{" "}
          <Code>{'{"error": "what to do", "code": "RATE_LIMITED", "details": {…}}'}</Code>.{" "}
          <Code>details.origin</Code> is client, gateway, policy or provider. For the list of models, call{" "}
          <Code>{`${baseUrl}/models`}</Code>.
        </Text>
      </Section>
    </Stack>
  );
}
