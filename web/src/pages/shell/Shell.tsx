import { AppShell, Burger, Group, NavLink, ScrollArea, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useIsFetching } from "@tanstack/react-query";
import { Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";

import { useLiveConnection } from "../../api/live";
import { Icon } from "../../components/Icon";
import { useShortcuts } from "../../lib/keyboard";
import { useSession } from "../../lib/session";
import { useStored } from "../../lib/stored";
import { groups, type Page, pages } from "../../routes";
import { Banners } from "./Banners";
import { TopBar } from "./TopBar";
import { useTheme } from "./useTheme";
import { PageLink } from "../../components/PageLink";
import { useGo } from "../../lib/search";
import { useOnce } from "../../lib/useOnce";

// Dialogs are loaded when they are first opened.
const CommandPalette = lazy(() => import("./CommandPalette").then((m) => ({ default: m.CommandPalette })));
const ShortcutList = lazy(() => import("./ShortcutList").then((m) => ({ default: m.ShortcutList })));

/** Layout of every page: navigation, top bar and banners. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure();
  const [collapsed, setCollapsed] = useStored("nav-collapsed", false);
  const [palette, paletteHandlers] = useDisclosure();
  const [keys, keysHandlers] = useDisclosure();
  const [paletteUsed, keysUsed] = [useOnce(palette), useOnce(keys)];
  const { pathname } = useLocation();
  const { workspace } = useSession();
  useLiveConnection(workspace.id);
  useEffect(close, [pathname, close]);
  const { next: nextTheme } = useTheme();
  const visiblePages = useVisiblePages();
  const go = useGo();
  const loading = useIsFetching({ predicate: (query) => query.state.status === "pending" }) > 0;
  useShortcuts([
    { keys: "mod+k", label: "Command palette", run: paletteHandlers.toggle, always: true },
    { keys: "?", label: "Keyboard shortcuts", run: keysHandlers.toggle },
    { keys: "t", label: "Change theme", run: nextTheme },
    ...visiblePages
      .filter((page) => page.shortcut)
      .map((page) => ({
        keys: `g ${page.shortcut}`,
        label: `Go to ${page.title}`,
        run: () => void go({ to: page.path }),
      })),
  ]);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 220, breakpoint: "sm", collapsed: { mobile: !opened, desktop: collapsed } }}
      padding="md"
    >
      <a href="#main" className="skip-link">
        Skip to content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" gap="sm" wrap="nowrap">
          <Burger
            opened={opened}
            onClick={toggle}
            hiddenFrom="sm"
            size="sm"
            aria-label="Navigation"
            aria-expanded={opened}
          />
          <Burger
            opened={false}
            onClick={() => setCollapsed(!collapsed)}
            visibleFrom="sm"
            size="sm"
            aria-label="Navigation"
            aria-expanded={!collapsed}
          />
          <TopBar onPalette={paletteHandlers.open} onShortcuts={keysHandlers.open} />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        <Navigation pages={visiblePages} current={pathname} />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} aria-busy={loading}>
        <Banners />
        <Outlet />
      </AppShell.Main>
      <Suspense>
        {paletteUsed && (
          <CommandPalette opened={palette} onClose={paletteHandlers.close} pages={visiblePages} />
        )}
        {keysUsed && <ShortcutList opened={keys} onClose={keysHandlers.close} />}
      </Suspense>
    </AppShell>
  );
}

/** The navigation pages that the user has permission to see. */
function useVisiblePages(): Page[] {
  const { may } = useSession();
  return pages.filter((page) => page.group && (!page.permission || may(page.permission)));
}

/** Reports whether the path is a page or one below it. */
function isWithin(page: Page, path: string): boolean {
  if (page.path === "/") {
    return path === "/";
  }
  return path.startsWith(page.path) || (page.below !== undefined && path.startsWith(page.below));
}

function Navigation({ pages: visiblePages, current }: { pages: Page[]; current: string }) {
  return (
    <ScrollArea>
      {groups.map((group) => {
        const inside = visiblePages.filter((page) => page.group === group);
        if (inside.length === 0) {
          return null;
        }
        return (
          <div key={group}>
            <Text size="xs" fw={600} c="dimmed" px="xs" pt="sm" pb={4}>
              {group}
            </Text>
            {inside.map((page) => (
              <NavLink
                key={page.path}
                component={PageLink}
                to={page.path}
                label={page.title}
                leftSection={<Icon name={page.icon} />}
                active={isWithin(page, current)}
                aria-current={current === page.path ? "page" : undefined}
              />
            ))}
          </div>
        );
      })}
      <NavLink href="/docs" label="Documentation" leftSection={<Icon name="book" />} mt="sm" />
    </ScrollArea>
  );
}
