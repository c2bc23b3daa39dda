import { queryOptions, useQuery } from "@tanstack/react-query";

import { api, must } from "../../api/client";
import { keysQuery, modelsQuery } from "../../api/queries";
import { policiesQuery } from "../../api/routing";
import { useZone } from "../../lib/preferences";
import { useSession } from "../../lib/session";
import type { Page } from "../../routes";
import {
  chosen,
  type Command,
  type CommandGroup,
  docsCommand,
  keyCommand,
  modelCommand,
  parseDocs,
  policyCommand,
  sessionCommand,
} from "./palette";
import { useTheme } from "./useTheme";

const staleTime = 60_000;

/** The sessions of the last seven days with the latest requests. */
const recentSessionsQuery = queryOptions({
  queryKey: ["palette", "sessions"],
  queryFn: () => must(api.GET("/sessions", { params: { query: { from: "now-7d", limit: 50 } } })),
  staleTime,
});

/** The pages of the documentation. */
const docsQuery = queryOptions({
  queryKey: ["palette", "docs"],
  queryFn: async () => {
    const response = await fetch("/llms.txt");
    return response.ok ? parseDocs(await response.text()) : [];
  },
  staleTime: Infinity,
});

/** Finds pages, actions and objects by an input. The objects of each kind are loaded once. */
export function usePalette(pages: Page[], input: string): CommandGroup[] {
  const { may } = useSession();
  const commands = useActions(pages);
  const id = /req_[0-9a-zA-Z]+/.exec(input)?.[0];
  const searching = input !== "" && id === undefined;

  const keys = useQuery({ ...keysQuery, staleTime, enabled: searching && may("read_keys") });
  const models = useQuery({ ...modelsQuery, enabled: searching && may("read_models") });
  const policies = useQuery({ ...policiesQuery, staleTime, enabled: searching && may("read_policies") });
  const sessions = useQuery({ ...recentSessionsQuery, enabled: searching && may("read_requests") });
  const docs = useQuery({ ...docsQuery, enabled: searching });

  if (id) {
    const open: Command = {
      value: `open ${id}`,
      label: `Open request ${id}`,
      icon: "list",
      to: { to: "/requests/$id", params: { id } },
    };
    return [{ name: "Requests", commands: [open] }];
  }
  if (!searching) {
    return [{ name: "Go to", commands }];
  }
  const all: Command = {
    value: "all text",
    label: `List all requests with “${input}” in their text`,
    icon: "search",
    to: { to: "/requests", search: { text: input, from: "now-30d" } },
  };
  const documents = chosen((docs.data ?? []).map(docsCommand), input, 4);
  documents.push({
    value: "docs search",
    label: `Search the documentation for “${input}”`,
    icon: "search",
    href: `/docs/search?q=${encodeURIComponent(input)}`,
  });
  const policyList = [
    ...(policies.data?.instance.policies ?? []),
    ...(policies.data?.workspace.policies ?? []),
  ];
  const groups = [
    { name: "Go to", commands: chosen(commands, input) },
    { name: "API keys", commands: chosen((keys.data?.keys ?? []).map(keyCommand), input) },
    { name: "Models", commands: chosen((models.data?.models ?? []).map(modelCommand), input) },
    { name: "Policies", commands: chosen(policyList.map(policyCommand), input) },
    { name: "Sessions", commands: chosen((sessions.data?.sessions ?? []).map(sessionCommand), input) },
    { name: "Request text", commands: may("read_bodies") ? [all] : [] },
    { name: "Documentation", commands: documents },
  ];
  return groups.filter((group) => group.commands.length > 0);
}

/** The pages and actions. */
function useActions(pages: Page[]): Command[] {
  const { next } = useTheme();
  const [zone, setZone] = useZone();
  const { may, signOut } = useSession();
  const create: Command = {
    value: "create key",
    label: "Create API key",
    icon: "plus",
    to: { to: "/settings/keys", search: { create: "1" } },
  };
  return [
    ...pages.map((page): Command => {
      return { value: `page ${page.path}`, label: page.title, icon: page.icon, to: { to: page.path } };
    }),
    ...(may("manage_own_keys") ? [create] : []),
    { value: "theme", label: "Change theme", icon: "sun", run: next },
    {
      value: "zone",
      label: zone === "utc" ? "Show local times" : "Show UTC times",
      icon: "clock",
      run: () => setZone(zone === "utc" ? "local" : "utc"),
    },
    { value: "sign out", label: "Sign out", icon: "logout", run: signOut },
  ];
}
