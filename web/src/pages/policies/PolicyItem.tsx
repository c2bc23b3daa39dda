import {
  ActionIcon,
  Anchor,
  Badge,
  Box,
  Collapse,
  Group,
  Menu,
  Switch,
  Text,
  Tooltip,
  UnstyledButton,
} from "@mantine/core";
import type { DragEvent, KeyboardEvent, ReactNode } from "react";

import type { Schema } from "../../api/client";
import type { Policy } from "../../api/routing";
import { Icon, type IconName } from "../../components/Icon";
import { Money } from "../../components/Money";
import { PageLink } from "../../components/PageLink";
import { formatCount } from "../../lib/numbers";
import { joinList } from "../../lib/filters";
import { Condition } from "./Condition";
import { effectWords } from "./effects";
import classes from "./policies.module.css";

/** The actions on a policy; a read-only policy has none. */
export interface ItemActions {
  onMove: (to: number) => void;
  onToggle: (enabled: boolean) => void;
  onOpen: () => void;
  onCopy: () => void;
  onRemove: () => void;
  /** Drag state and callbacks. */
  drag: {
    over?: "before" | "after";
    dragged: boolean;
    onStart: () => void;
    onOver: (side: "before" | "after") => void;
    onDrop: () => void;
    onEnd: () => void;
  };
}

interface Props {
  policy: Policy;
  index: number;
  count: number;
  hits: Schema["PolicyHits"] | undefined;
  actions?: ItemActions;
  opened?: boolean;
  problem?: string;
  /** The form, when it is open. */
  children?: ReactNode;
}

/** One policy: name, condition, effects and hits in the last 24 hours. */
export function PolicyItem({
  policy,
  index,
  count,
  hits,
  actions,
  opened = false,
  problem,
  children,
}: Props) {
  const name = policy.name || `policy ${index + 1}`;
  const on = policy.enabled !== false;
  return (
    <li
      className={classes.policy}
      data-off={!on || undefined}
      data-over={actions?.drag.over}
      data-dragged={actions?.drag.dragged || undefined}
      aria-label={name}
      onKeyDown={(event) => actions && moveByKey(event, index, actions.onMove)}
      onDragOver={(event) => actions && overSide(event, actions.drag.onOver)}
      onDrop={(event) => {
        event.preventDefault();
        actions?.drag.onDrop();
      }}
    >
      <Box p="xs">
        <Group gap={6} wrap="nowrap" align="flex-start">
          {actions && <Handle name={name} drag={actions.drag} />}
          <Box flex={1} miw={0}>
            <Group gap="xs" wrap="nowrap">
              <Title policy={policy} index={index} opened={opened} onOpen={actions?.onOpen} />
              {!on && !actions && (
                <Badge color="gray" size="sm" radius="sm">
                  Disabled
                </Badge>
              )}
              {problem && (
                <Tooltip label={problem}>
                  <Badge
                    color="red"
                    size="sm"
                    radius="sm"
                    leftSection={<Icon name="alert" size={11} />}
                    tabIndex={0}
                  >
                    Error
                  </Badge>
                </Tooltip>
              )}
            </Group>
            {policy.description && (
              <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
                {policy.description}
              </Text>
            )}
            <div className={classes.words}>
              <Condition when={policy.when} />
            </div>
            <div className={classes.words}>
              <Icon name="arrowRight" size={12} /> {effectWords(policy).join(" · ") || "No effect yet"}
            </div>
            <Figures name={policy.name} hits={hits} />
          </Box>
          {actions && (
            <Group gap={4} wrap="nowrap">
              <Switch
                size="sm"
                aria-label={`Enable ${name}`}
                checked={on}
                onChange={(event) => actions.onToggle(event.currentTarget.checked)}
              />
              <ActionMenu name={name} index={index} count={count} actions={actions} />
            </Group>
          )}
        </Group>
      </Box>
      {actions && (
        <Collapse expanded={opened}>
          <Box p="sm" style={{ borderTop: "1px solid var(--mantine-color-default-border)" }}>
            {opened && children}
          </Box>
        </Collapse>
      )}
    </li>
  );
}

function Title({
  policy,
  index,
  opened,
  onOpen,
}: Pick<Props, "policy" | "index" | "opened"> & { onOpen?: () => void }) {
  const title = (
    <Text span fw={600} size="sm" style={{ overflowWrap: "anywhere" }}>
      {index + 1}. {policy.name || "Unnamed policy"}
    </Text>
  );
  return onOpen ? (
    <UnstyledButton onClick={onOpen} aria-expanded={opened}>
      <Group gap={4} wrap="nowrap">
        {title}
        <Icon name={opened ? "chevronUp" : "chevronDown"} size={12} />
      </Group>
    </UnstyledButton>
  ) : (
    title
  );
}

function Handle({ name, drag }: { name: string; drag: ItemActions["drag"] }) {
  return (
    <Tooltip label="Drag to move, or press Alt+↑ / Alt+↓">
      <span
        className={classes.handle}
        draggable
        role="button"
        tabIndex={0}
        aria-label={`Move ${name}: Alt+Up or Alt+Down`}
        onDragStart={(event) => {
          event.dataTransfer.effectAllowed = "move";
          event.dataTransfer.setData("text/plain", name);
          drag.onStart();
        }}
        onDragEnd={drag.onEnd}
      >
        <Icon name="grip" size={16} />
      </span>
    </Tooltip>
  );
}

interface MenuEntry {
  label: string;
  icon: IconName;
  run: () => void;
  disabled?: boolean;
}

function ActionMenu({
  name,
  index,
  count,
  actions,
}: {
  name: string;
  index: number;
  count: number;
  actions: ItemActions;
}) {
  const entries: MenuEntry[] = [
    { label: "Move up", icon: "arrowUp", run: () => actions.onMove(index - 1), disabled: index === 0 },
    {
      label: "Move down",
      icon: "arrowDown",
      run: () => actions.onMove(index + 1),
      disabled: index === count - 1,
    },
    { label: "Edit", icon: "edit", run: actions.onOpen },
    { label: "Duplicate", icon: "copy", run: actions.onCopy },
    { label: "Delete", icon: "trash", run: actions.onRemove },
  ];
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
          <Icon name="dots" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {entries.map(({ label, icon, run, disabled }) => (
          <Menu.Item
            key={label}
            leftSection={<Icon name={icon} size={14} />}
            onClick={run}
            disabled={disabled}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** Hits and savings in the last 24 hours. */
function Figures({ name, hits }: { name: string; hits: Schema["PolicyHits"] | undefined }) {
  if (!hits) {
    return null;
  }
  return (
    <Text size="xs" c="dimmed" mt={2}>
      Last 24 h:{" "}
      {hits.requests > 0 ? (
        <Anchor
          component={PageLink}
          to="/requests"
          search={{ policy: joinList([name]), from: "now-24h" }}
          inherit
        >
          {formatCount(hits.requests)} {hits.requests === 1 ? "hit" : "hits"}
        </Anchor>
      ) : (
        "no hits"
      )}
      {hits.denied > 0 && `, ${formatCount(hits.denied)} rejected`}
      {hits.compared > 0 && (
        <>
          {" "}
          · saved <Money amount={hits.saved_usd} />
        </>
      )}
    </Text>
  );
}

function moveByKey(event: KeyboardEvent, index: number, onMove: (to: number) => void): void {
  if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault();
    event.stopPropagation();
    onMove(event.key === "ArrowUp" ? index - 1 : index + 1);
  }
}

function overSide(event: DragEvent, onOver: (side: "before" | "after") => void): void {
  event.preventDefault();
  event.dataTransfer.dropEffect = "move";
  const { top, height } = event.currentTarget.getBoundingClientRect();
  onOver(event.clientY < top + height / 2 ? "before" : "after");
}
