import { Anchor, Badge, Button, Code, Group, Paper, Stack, Switch, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { SimulatedBadge, StateBadge } from "../../components/badges";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { plural } from "../../lib/numbers";
import { type ProviderActions, useProviderActions } from "./actions";
import { AddCredential } from "./AddCredential";
import { Credentials } from "./Credentials";
import { Circuits, Headroom, Traffic } from "./ProviderHealth";
import classes from "./providers.module.css";
import { healthLook, needsReset, type Provider, sourceText } from "./providers";
import { TestResult } from "./TestResult";

interface Props {
  provider: Provider;
  /** Whether the user may change providers. */
  editable: boolean;
  /** Whether the user is a gateway operator; only operators see credentials. */
  operator: boolean;
}

/** A provider with its health, credentials and actions. */
export function ProviderCard({ provider, editable, operator }: Props) {
  const actions = useProviderActions(provider.name);
  return (
    <Paper
      withBorder
      p="md"
      component="article"
      aria-label={provider.title}
      data-off={!provider.enabled || undefined}
    >
      <Stack gap="sm">
        <Head provider={provider} editable={editable} actions={actions} />
        {actions.enable.error && (
          <ErrorPanel what={`Could not change ${provider.title}`} error={actions.enable.error} />
        )}
        <TestResult
          title={provider.title}
          result={actions.test.data}
          error={actions.test.error}
          onClose={() => actions.test.reset()}
        />
        {actions.reset.error && <ErrorPanel what="Could not reset circuits" error={actions.reset.error} />}
        {provider.enabled ? (
          <Details provider={provider} editable={editable} operator={operator} actions={actions} />
        ) : (
          <Text size="sm" c="dimmed">
            Disabled. No requests are sent to this provider.
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

function Head({
  provider,
  editable,
  actions,
}: {
  provider: Provider;
  editable: boolean;
  actions: ProviderActions;
}) {
  const { test, reset, enable } = actions;
  return (
    <Group justify="space-between" gap="sm">
      <Group gap="xs">
        <Title order={2} size="h3">
          {provider.title}
        </Title>
        {provider.title !== provider.name && <Code>{provider.name}</Code>}
        {provider.simulated && <SimulatedBadge />}
        <StateBadge look={healthLook(provider)} />
        <Badge color="gray" radius="sm" title={sourceText(provider.source)}>
          {provider.source}
        </Badge>
      </Group>
      {editable && (
        <Group gap="xs">
          {provider.enabled && needsReset(provider) && (
            <Button
              size="xs"
              variant="default"
              leftSection={<Icon name="refresh" size={14} />}
              loading={reset.isPending}
              onClick={() => reset.mutate()}
            >
              Reset circuits
            </Button>
          )}
          {provider.enabled && (
            <Button
              size="xs"
              variant="default"
              leftSection={<Icon name="play" size={14} />}
              loading={test.isPending}
              onClick={() => test.mutate()}
              aria-label={`Test ${provider.title}`}
            >
              Test
            </Button>
          )}
          <Switch
            size="sm"
            label={provider.enabled ? "Enabled" : "Disabled"}
            aria-label={`Enable ${provider.title}`}
            checked={provider.enabled}
            disabled={enable.isPending}
            onChange={(event) => enable.mutate(event.currentTarget.checked)}
          />
        </Group>
      )}
    </Group>
  );
}

function Details({ provider, editable, operator, actions }: Props & { actions: ProviderActions }) {
  return (
    <dl className={classes.facts}>
      {provider.base_url && !provider.simulated && (
        <Fact name="Base URL">
          <Code style={{ overflowWrap: "anywhere" }}>{provider.base_url}</Code>
        </Fact>
      )}
      <Fact name="Models">
        <Anchor size="sm" component={Link} to="/routing/models" search={{ provider: provider.name } as never}>
          {plural(provider.targets.length, "model")}
        </Anchor>
      </Fact>
      <Fact name="Last 24 hours">
        <Traffic provider={provider} />
      </Fact>
      <Fact name="Health">
        <Circuits provider={provider} />
      </Fact>
      {provider.headroom && (
        <Fact name="Rate limits">
          <Headroom provider={provider} />
        </Fact>
      )}
      <Fact name="Credentials">
        <CredentialDetails provider={provider} editable={editable} operator={operator} actions={actions} />
      </Fact>
    </dl>
  );
}

function CredentialDetails({ provider, editable, operator, actions }: Props & { actions: ProviderActions }) {
  const { add, remove } = actions;
  const [adding, setAdding] = useState(false);
  const close = () => {
    setAdding(false);
    add.reset();
  };
  if (!operator) {
    return (
      <Text size="sm" c="dimmed">
        Only visible to gateway operators.
      </Text>
    );
  }
  return (
    <>
      <Credentials provider={provider} editable={editable} remove={remove} />
      {editable && !provider.simulated && (
        <Button
          size="compact-xs"
          variant="subtle"
          mt={4}
          leftSection={<Icon name="plus" size={12} />}
          onClick={() => setAdding(true)}
          aria-label={`Add credential to ${provider.title}`}
        >
          Add credential
        </Button>
      )}
      <AddCredential
        opened={adding}
        title={provider.title}
        pending={add.isPending}
        error={add.error}
        onAdd={(secret) => add.mutate(secret, { onSuccess: close })}
        onClose={close}
      />
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <dd>{children}</dd>
    </>
  );
}
