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
import { DeleteRequests, SampleData } from "./DeleteRequests";
import { RedactionForm } from "./RedactionForm";
import { RetentionForm } from "./RetentionForm";
import { Storage } from "./Storage";

/** What is stored of requests, for how long, and how to get rid of it. */
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
      <PageHeader
        title="Data"
        description={`What “${membership.name}” stores of its requests, and for how long.`}
      />
      {error && <ErrorPanel what="The settings could not be loaded" error={error} onRetry={retry} />}
      <Section title="Keeping and storing">
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
            <Note>Owners and admins change these.</Note>
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
          <Section title="Sample data">
            <SampleData />
          </Section>
        </>
      )}
      {settings.data && <Elsewhere settings={settings.data} operator={membership.operator} />}
    </>
  );
}

/** What this page cannot change, and where it is set. */
function Elsewhere({ settings, operator }: { settings: Schema["SettingsView"]; operator: boolean }) {
  return (
    <Section title="Set elsewhere">
      <Stack gap="xs" maw={720}>
        <Note>
          {operator
            ? `These belong to the whole gateway and are set in its configuration (${settings.config_source}).`
            : "These belong to the whole gateway: whoever runs it sets them in its configuration."}
        </Note>
        <List size="sm" spacing={4}>
          <List.Item>
            Storing of texts at all, and the retention where nothing is set here: <code>log.bodies</code>,{" "}
            <code>log.entry_retention</code>, <code>log.body_retention</code>.
          </List.Item>
          <List.Item>
            The longest text that is stored, {formatBytes(settings.limits.stored_bytes)} each for request and
            answer: <code>log.body_limit</code>.
          </List.Item>
          <List.Item>
            The queue in front of the database: <code>spool.limit</code>.
          </List.Item>
          <List.Item>
            Storing for one key: in its settings under API keys. For one request: x-fairlead-log-body: false.
          </List.Item>
          <List.Item>
            What is taken out of stored texts where nothing is set here: <code>log.redact</code>.
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
