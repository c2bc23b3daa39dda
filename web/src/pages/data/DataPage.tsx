import { Box, List, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Schema } from "../../api/client";
import { settingsQuery, workspaceQuery } from "../../api/manage";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { Section } from "../../components/Section";
import { formatBytes } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { ComparisonSummary } from "../comparison/ComparisonSummary";
import { DeleteRequests } from "./DeleteRequests";
import { RedactionForm } from "./RedactionForm";
import { RemoveSimulated } from "./RemoveSimulated";
import { RetentionForm } from "./RetentionForm";
import { Storage } from "./Storage";

/** Retention, redaction, storage and deletion of request data. */
export function DataPage() {
  const { may, workspace: membership } = useSession();
  const workspace = useQuery(workspaceQuery);
  const settings = useQuery(settingsQuery);
  const error = workspace.error ?? settings.error;
  const retry = () => {
    void workspace.refetch();
    void settings.refetch();
  };
  return (
    <>
      <PageHeader title="Data" description={`Request data stored for “${membership.name}”`} />
      {error && <ErrorPanel what="Could not load settings" error={error} onRetry={retry} />}
      <Section title="Retention">
        {workspace.data && settings.data ? (
          <RetentionForm
            key={JSON.stringify([
              workspace.data.entry_retention_ms,
              workspace.data.body_retention_ms,
              workspace.data.log_bodies,
            ])}
            workspace={workspace.data}
            settings={settings.data}
            editable={may("manage_workspace")}
          />
        ) : (
          !error && <PanelSkeleton height={180} />
        )}
        {!may("manage_workspace") && (
          <Box mt="sm">
            <Note>Only owners and admins can change these settings.</Note>
          </Box>
        )}
      </Section>
      <Section title="Redaction">
        {workspace.data && settings.data ? (
          <RedactionForm
            key={JSON.stringify(workspace.data.redaction ?? null)}
            workspace={workspace.data}
            settings={settings.data}
            editable={may("manage_workspace")}
          />
        ) : (
          !error && <PanelSkeleton height={180} />
        )}
      </Section>
      <Section title="Comparison">
        <ComparisonSummary editable={may("manage_workspace")} />
      </Section>
      {membership.operator && (
        <Section title="Storage">
          {settings.data ? (
            <Storage storage={settings.data.storage} store={settings.data.store} />
          ) : (
            !error && <PanelSkeleton height={80} />
          )}
        </Section>
      )}
      {may("delete_requests") && (
        <>
          <Section title="Delete requests">
            <DeleteRequests />
          </Section>
          <Section title="Simulated requests">
            <RemoveSimulated />
          </Section>
        </>
      )}
      {settings.data && <GatewaySettings settings={settings.data} operator={membership.operator} />}
    </>
  );
}

/** Settings of the whole gateway, which this page cannot change. */
function GatewaySettings({ settings, operator }: { settings: Schema["SettingsView"]; operator: boolean }) {
  return (
    <Section title="Gateway settings">
      <Stack gap="xs" maw={720}>
        <Note>
          {operator
            ? `Set for all workspaces in the gateway configuration (${settings.config_source}).`
            : "Set for all workspaces by the gateway operator."}
        </Note>
        <List size="sm" spacing={4}>
          <List.Item>
            Default storage and retention of prompts and responses: <code>log.bodies</code>,{" "}
            <code>log.entry_retention</code>, <code>log.body_retention</code>.
          </List.Item>
          <List.Item>
            Size limit of a stored prompt or response, {formatBytes(settings.limits.stored_bytes)}:{" "}
            <code>log.body_limit</code>.
          </List.Item>
          <List.Item>
            Size limit of the write queue: <code>spool.limit</code>.
          </List.Item>
          <List.Item>
            To turn off storage for one key, edit the key. For one request, send x-fairlead-log-body: false.
          </List.Item>
          <List.Item>
            Default redaction rules: <code>log.redact</code>.
          </List.Item>
        </List>
      </Stack>
    </Section>
  );
}

function Note({ children }: { children: React.ReactNode }) {
  return (
    <Text size="sm" c="dimmed">
      {children}
    </Text>
  );
}
