import { ActionIcon, Button, Group, Kbd, Menu, Text, Tooltip, UnstyledButton } from "@mantine/core";

import { Icon, type IconName } from "../../components/Icon";
import { useZone } from "../../lib/preferences";
import { useSession } from "../../lib/session";
import { pages } from "../../routes";
import { LiveIndicator } from "./LiveIndicator";
import { useTheme } from "./useTheme";
import { PageLink } from "../../components/PageLink";

interface Props {
  onPalette: () => void;
  onShortcuts: () => void;
}

/** The top bar: workspace, command palette, live indicator, theme and account menu. */
export function TopBar({ onPalette, onShortcuts }: Props) {
  return (
    <>
      <UnstyledButton component={PageLink} to="/" aria-label="Fairlead, home">
        <Group gap={6} wrap="nowrap">
          <img src="/favicon.svg" alt="" width={22} height={22} />
          <Text fw={700} visibleFrom="xs">
            Fairlead
          </Text>
        </Group>
      </UnstyledButton>
      <WorkspaceMenu />
      <Group ml="auto" gap="xs" wrap="nowrap">
        <Button
          variant="default"
          size="xs"
          visibleFrom="sm"
          leftSection={<Icon name="search" size={14} />}
          rightSection={<Kbd size="xs">{/Mac/.test(navigator.userAgent) ? "⌘K" : "Ctrl K"}</Kbd>}
          onClick={onPalette}
        >
          Search
        </Button>
        <ActionIcon variant="default" size="md" hiddenFrom="sm" aria-label="Search" onClick={onPalette}>
          <Icon name="search" />
        </ActionIcon>
        <LiveIndicator />
        <ThemeButton />
        <AccountMenu onShortcuts={onShortcuts} />
      </Group>
    </>
  );
}

function WorkspaceMenu() {
  const { workspace, workspaces, enter } = useSession();
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          c="inherit"
          size="xs"
          rightSection={<Icon name="chevronDown" size={12} />}
          aria-label={`Workspace ${workspace.name}`}
          miw={0}
        >
          <Text span size="sm" truncate maw={180}>
            {workspace.name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Workspaces</Menu.Label>
        {workspaces.map((w) => (
          <Menu.Item
            key={w.id}
            leftSection={<Icon name={w.id === workspace.id ? "check" : "circle"} size={14} />}
            rightSection={
              <Text size="xs" c="dimmed">
                {w.role}
              </Text>
            }
            onClick={() => enter(w.id)}
          >
            {w.name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

const themes = { auto: "clock", light: "sun", dark: "moon" } as const satisfies Record<string, IconName>;

function ThemeButton() {
  const { scheme, set } = useTheme();
  return (
    <Menu>
      <Menu.Target>
        <Tooltip label="Theme">
          <ActionIcon variant="default" size="md" aria-label={`Theme: ${scheme}`}>
            <Icon name={scheme === "dark" ? "moon" : "sun"} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        {(["auto", "light", "dark"] as const).map((name) => (
          <Menu.Item
            key={name}
            leftSection={<Icon name={themes[name]} size={14} />}
            rightSection={scheme === name && <Icon name="check" size={14} />}
            onClick={() => set(name)}
          >
            {{ auto: "System", light: "Light", dark: "Dark" }[name]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function AccountMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const { account, server, signOut } = useSession();
  const [zone, setZone] = useZone();
  const accountPage = pages.find((page) => page.path === "/settings/account");
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <ActionIcon variant="default" size="md" aria-label="Menu">
          <Icon name="user" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{account.email}</Menu.Label>
        {accountPage && (
          <Menu.Item
            component={PageLink}
            to={accountPage.path}
            leftSection={<Icon name="settings" size={14} />}
          >
            Account
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={<Icon name="clock" size={14} />}
          closeMenuOnClick={false}
          onClick={() => setZone(zone === "utc" ? "local" : "utc")}
        >
          Time zone: {zone === "utc" ? "UTC" : zone}
        </Menu.Item>
        <Menu.Item
          leftSection={<Icon name="list" size={14} />}
          rightSection={<Kbd size="xs">?</Kbd>}
          onClick={onShortcuts}
        >
          Keyboard shortcuts
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="logout" size={14} />} onClick={signOut}>
          Sign out
        </Menu.Item>
        <Menu.Label>Fairlead {server.version}</Menu.Label>
      </Menu.Dropdown>
    </Menu>
  );
}
