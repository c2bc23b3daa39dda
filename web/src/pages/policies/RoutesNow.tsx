import { Anchor, Paper, SimpleGrid, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Schema } from "../../api/client";
import { PageLink } from "../../components/PageLink";

interface Props {
  settings: Schema["SettingsView"];
  workspace: Schema["WorkspaceView"];
}

/** What decides at the moment: the router alone. */
export function RoutesNow({ settings, workspace }: Props) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
      <Fact label="Policies" value="none">
        Routing is on score only.
      </Fact>
      <Fact label="Router" value={settings.router_version}>
        Catalog {settings.catalog_version}.
      </Fact>
      <Fact label="Objective" value="auto (0.5)">
        Balanced, unless a request says auto:cost, auto:quality, auto:speed or x-fairlead-tradeoff.
      </Fact>
      <Fact label="Baseline" value={baseline(settings, workspace)}>
        {baselineWords(settings, workspace)}{" "}
        <Anchor component={PageLink} to="/settings/account" size="xs" underline="always">
          Change
        </Anchor>
      </Fact>
    </SimpleGrid>
  );
}

function baseline(settings: Schema["SettingsView"], workspace: Schema["WorkspaceView"]): string {
  return workspace.default_model ?? settings.default_model ?? "the priciest candidate";
}

function baselineWords(settings: Schema["SettingsView"], workspace: Schema["WorkspaceView"]): string {
  if (workspace.default_model) {
    return "The workspace’s default model, where caller and key name none.";
  }
  return settings.default_model
    ? "The gateway’s default model, where caller and key name none."
    : "No default model is set; for each request the dearest model that could serve it.";
}

function Fact({ label, value, children }: { label: string; value: string; children: ReactNode }) {
  return (
    <Paper withBorder p="sm">
      <Text size="xs" c="dimmed" fw={600}>
        {label}
      </Text>
      <Text fw={600} truncate title={value}>
        {value}
      </Text>
      <Text size="xs" c="dimmed">
        {children}
      </Text>
    </Paper>
  );
}
