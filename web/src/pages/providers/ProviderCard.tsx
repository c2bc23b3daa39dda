import {
  ActionIcon,
  Anchor,
  Badge,
  Button,
  Code,
  Group,
  Menu,
  Paper,
  Stack,
  Switch,
  Text,
  Title,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { SimulatedBadge, StateBadge } from "../../components/badges";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { Lock } from "../../components/Lock";
import { PageLink } from "../../components/PageLink";
import { type ProviderActions, useProviderActions } from "./actions";
import { AddCredential } from "./AddCredential";
import { Credentials } from "./Credentials";
import { EditProvider } from "./EditProvider";
import { Circuits, Headroom, Traffic } from "./ProviderHealth";
import classes from "./providers.module.css";
import { healthLook, lockText, modelsText, needsReset, type Provider, sourceText } from "./providers";
import { TestResult } from "./TestResult";

interface Props {
  provider: Provider;
  /** Whether the user may test, enable and disable providers. */
  editable: boolean;
  /** Whether the user may change providers and their credentials. */
  connects: boolean;
  /** Whether the user is a gateway operator; only operators see credentials. */
  operator: boolean;
}

/** A provider with its health, credentials and actions. */
export function ProviderCard({ provider, editable, connects, operator }: Props) {
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
        <Head provider={provider} editable={editable} connects={connects} actions={actions} />
        {actions.enable.error && (
          <ErrorPanel what={`Could not change ${provider.title}`} error={actions.enable.error} />
        )}
        <TestResult
          title={provider.title}
          result={actions.test.data}
          error={actions.test.error}
          onClose={() => actions.test.reset()}
        />
        {actions.reset.error && (
          <ErrorPanel what="Could not reset circuit breakers" error={actions.reset.error} />
        )}
        {provider.enabled ? (
          <Details provider={provider} connects={connects} operator={operator} actions={actions} />
        ) : (
          <Text size="sm" c="dimmed">
            Disabled. No requests are sent to this provider.
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

type HeadProps = Pick<Props, "provider" | "editable" | "connects"> & { actions: ProviderActions };

function Head({ provider, editable, connects, actions }: HeadProps) {
  const { test, reset, enable } = actions;
  return (
    <Group justify="space-between" gap="sm">
      <Group gap="xs">
        <Title order={2} size="h3">
          <Anchor inherit component={PageLink} to="/providers/$name" params={{ name: provider.name }}>
            {provider.title}
          </Anchor>
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
              Reset circuit breakers
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
          {connects && provider.managed_by === "dashboard" && (
            <ProviderMenu provider={provider} actions={actions} />
          )}
        </Group>
      )}
    </Group>
  );
}

/** The actions on a provider that was connected in the dashboard. */
function ProviderMenu({ provider, actions }: { provider: Provider; actions: ProviderActions }) {
  const { disconnect } = actions;
  const [open, setOpen] = useState<"edit" | "remove">();
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size="md" aria-label={`Actions for ${provider.title}`}>
            <Icon name="dots" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="edit" size={14} />} onClick={() => setOpen("edit")}>
            Change base URL
          </Menu.Item>
          <Menu.Item
            color="red"
            leftSection={<Icon name="trash" size={14} />}
            onClick={() => setOpen("remove")}
          >
            Remove provider
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <EditProvider
        opened={open === "edit"}
        provider={provider}
        change={actions.change}
        onClose={() => setOpen(undefined)}
      />
      <ConfirmDialog
        opened={open === "remove"}
        title={`Remove ${provider.title}`}
        action="Remove"
        pending={disconnect.isPending}
        error={
          disconnect.error && <ErrorPanel what="Could not remove the provider" error={disconnect.error} />
        }
        onClose={() => {
          setOpen(undefined);
          disconnect.reset();
        }}
        onConfirm={() => disconnect.mutate()}
      >
        The provider and its keys are deleted. New requests no longer use its models.
      </ConfirmDialog>
    </>
  );
}

type DetailsProps = Pick<Props, "provider" | "connects" | "operator"> & { actions: ProviderActions };

function Details({ provider, connects, operator, actions }: DetailsProps) {
  const lock = lockText(provider);
  return (
    <dl className={classes.facts}>
      {provider.base_url && !provider.simulated && (
        <Fact name="Base URL">
          <Group gap={6} wrap="nowrap">
            <Code style={{ overflowWrap: "anywhere" }}>{provider.base_url}</Code>
            {lock && <Lock reason={lock} />}
          </Group>
        </Fact>
      )}
      <Fact name="Models">
        <Anchor size="sm" component={Link} to="/routing/models" search={{ provider: provider.name } as never}>
          {modelsText(provider)}
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
        <CredentialDetails provider={provider} connects={connects} operator={operator} actions={actions} />
      </Fact>
    </dl>
  );
}

function CredentialDetails({ provider, connects, operator, actions }: DetailsProps) {
  const { add, rotate, remove } = actions;
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
      <Credentials provider={provider} editable={connects} rotate={rotate} remove={remove} />
      {connects && !provider.simulated && (
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
