import { ActionIcon, Badge, Group, Menu, Progress, Text, Tooltip } from "@mantine/core";

import type { Schema } from "../../api/client";
import { StateBadge } from "../../components/badges";
import type { Column } from "../../components/DataTable";
import { Icon } from "../../components/Icon";
import { Money } from "../../components/Money";
import { PageLink } from "../../components/PageLink";
import { Time } from "../../components/Time";
import { formatMoney } from "../../lib/money";
import { creatorOf, graceSecrets, keyHint, limitLabels } from "./keyState";

type KeyView = Schema["KeyView"];

/** The actions on a key. */
export interface KeyActions {
  onEdit: (key: KeyView) => void;
  onRotate: (key: KeyView) => void;
  onRevoke: (key: KeyView) => void;
  mayChange: (key: KeyView) => boolean;
}

/** The columns of the key table. */
export function keyColumns(
  actions: KeyActions,
  members: Schema["MemberView"][] | undefined,
): Column<KeyView>[] {
  return [
    {
      id: "name",
      label: "Name",
      sort: (key) => key.name,
      render: (key) => (
        <>
          <Text size="sm" fw={600} truncate maw={180}>
            {key.name}
          </Text>
          <KeyHints target={key} />
        </>
      ),
    },
    {
      id: "state",
      label: "State",
      render: (key) => (
        <>
          <StateOf target={key} />
          <Text size="xs" c="dimmed">
            {key.expires_at ? "expires " : "never expires"}
            {key.expires_at && <Time at={key.expires_at} as="day" />}
          </Text>
        </>
      ),
    },
    { id: "scopes", label: "Scopes", render: (key) => <Scopes target={key} /> },
    { id: "limits", label: "Limits", render: (key) => <Limits target={key} /> },
    { id: "budget", label: "Budget", render: (key) => <Budget target={key} /> },
    {
      id: "spend",
      label: "Spend (30 d)",
      numeric: true,
      sort: (key) => Number(key.spend_30d_usd),
      render: (key) => <Money amount={key.spend_30d_usd} />,
    },
    {
      id: "used",
      label: "Last used",
      sort: (key) => key.last_used_at,
      render: (key) => (
        <>
          <Time at={key.last_used_at} as="age" none="never" />
          {key.last_used_by && (
            <Text size="xs" c="dimmed" truncate maw={110}>
              {key.last_used_by}
            </Text>
          )}
        </>
      ),
    },
    {
      id: "created",
      label: "Created",
      sort: (key) => key.created_at,
      render: (key) => (
        <>
          <Time at={key.created_at} as="day" />
          <Text size="xs" c="dimmed" truncate maw={110}>
            {creatorOf(key, members)}
          </Text>
        </>
      ),
    },
    { id: "menu", label: "", render: (key) => <KeyMenu target={key} {...actions} /> },
  ];
}

function KeyHints({ target }: { target: KeyView }) {
  const old = graceSecrets(target);
  return (
    <Text size="xs" c="dimmed" ff="monospace" component="div">
      {keyHint(target)}
      {old.map((secret) => (
        <div key={secret.start + secret.end}>
          {secret.start}…{secret.end} <GraceEnd secret={secret} />
        </div>
      ))}
    </Text>
  );
}

function GraceEnd({ secret }: { secret: Schema["KeySecret"] }) {
  if (secret.expires_at) {
    return (
      <>
        expires <Time at={secret.expires_at} as="age" />
      </>
    );
  }
  return secret.grace_after_use_ms == null ? null : <>expires after the new secret is used</>;
}

/** The state of a key as a badge. */
export function StateOf({ target }: { target: KeyView }) {
  const looks = {
    active: { icon: "check", colour: "green", word: "active" },
    expired: { icon: "clock", colour: "orange", word: "expired" },
    revoked: { icon: "ban", colour: "gray", word: "revoked" },
  } as const;
  return <StateBadge look={looks[target.state]} />;
}

function Scopes({ target }: { target: KeyView }) {
  return (
    <>
      <Group gap={4} wrap="nowrap">
        {target.scopes.map((scope) => (
          <Badge key={scope} size="sm" color="gray" radius="sm">
            {scope}
          </Badge>
        ))}
      </Group>
      <Tooltip label={target.allowed_models.join(", ")} disabled={target.allowed_models.length === 0}>
        <Text size="xs" c="dimmed" truncate maw={130}>
          {target.allowed_models.length === 0 ? "all models" : target.allowed_models.join(", ")}
        </Text>
      </Tooltip>
    </>
  );
}

function Limits({ target }: { target: KeyView }) {
  const words = limitLabels(target.limits);
  return (
    <Text size="xs" component="div" c={words.length === 0 ? "dimmed" : undefined}>
      {words.length === 0 ? "none" : words.map((word) => <div key={word}>{word}</div>)}
    </Text>
  );
}

function Budget({ target: { name, budget, budget_use: use } }: { target: KeyView }) {
  if (!budget) {
    return (
      <Text size="xs" c="dimmed">
        none
      </Text>
    );
  }
  const percent = Math.min(100, use?.percent ?? 0);
  const over = percent >= 100 ? "red" : percent >= (budget.warn_percent ?? 80) ? "orange" : "cyan";
  return (
    <div style={{ minWidth: 130 }}>
      <Text size="xs" ff="monospace">
        {formatMoney(use?.spent_usd ?? "0")} of {formatMoney(budget.amount_usd)}
      </Text>
      <Progress.Root size={6} my={2}>
        <Progress.Section value={percent} color={over} aria-label={`Budget used by ${name}`} />
      </Progress.Root>
      <Text size="xs" c="dimmed">
        {use?.resets_at ? (
          <>
            resets <Time at={use.resets_at} as="day" />
          </>
        ) : (
          `per ${budget.period}`
        )}
      </Text>
    </div>
  );
}

/** The menu of a key. */
export function KeyMenu({ target, onEdit, onRotate, onRevoke, mayChange }: { target: KeyView } & KeyActions) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${target.name}`}>
          <Icon name="dots" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          component={PageLink}
          to="/requests"
          search={{ key: target.id, from: "now-30d" }}
          leftSection={<Icon name="list" size={14} />}
        >
          View requests
        </Menu.Item>
        {mayChange(target) && target.state !== "revoked" && (
          <>
            <Menu.Item leftSection={<Icon name="edit" size={14} />} onClick={() => onEdit(target)}>
              Edit
            </Menu.Item>
            <Menu.Item leftSection={<Icon name="refresh" size={14} />} onClick={() => onRotate(target)}>
              Rotate
            </Menu.Item>
            <Menu.Item
              color="red"
              leftSection={<Icon name="ban" size={14} />}
              onClick={() => onRevoke(target)}
            >
              Revoke
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
