import { Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { saveWorkspace, settingsQuery, workspaceQuery } from "../../api/manage";
import { modelsQuery, sessionQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { notifyDone } from "../../lib/notify";
import { useSession } from "../../lib/session";

/** Name and default model of the workspace. */
export function WorkspaceSettings() {
  const { may } = useSession();
  const workspace = useQuery(workspaceQuery);
  const settings = useQuery(settingsQuery);
  const models = useQuery(modelsQuery);
  const error = workspace.error ?? settings.error;
  if (error) {
    return (
      <ErrorPanel
        what="Could not load the workspace"
        error={error}
        onRetry={() => void Promise.all([workspace.refetch(), settings.refetch()])}
      />
    );
  }
  if (!workspace.data || !settings.data) {
    return <PanelSkeleton height={180} />;
  }
  return (
    <WorkspaceForm
      key={JSON.stringify(workspace.data)}
      workspace={workspace.data}
      settings={settings.data}
      models={models.data?.models ?? []}
      editable={may("manage_workspace")}
    />
  );
}

interface Props {
  workspace: Schema["WorkspaceView"];
  settings: Schema["SettingsView"];
  models: Schema["ModelView"][];
  editable: boolean;
}

function WorkspaceForm({ workspace, settings, models, editable }: Props) {
  const [name, setName] = useState(workspace.name);
  const [model, setModel] = useState(workspace.default_model ?? "");
  const save = useSave();
  const problems = save.error ? asApiError(save.error).problems : {};
  const names = models.filter((m) => m.kind === "chat" && m.targets.length > 0).map((m) => m.name);
  const inherited = settings.default_model
    ? `Gateway default: ${settings.default_model}`
    : "None (no savings are shown)";
  const unknown = model !== "" && models.length > 0 && !names.includes(model);
  const changed = name !== workspace.name || (model || null) !== workspace.default_model;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate({ name, default_model: model || null });
      }}
    >
      <Stack gap="sm" maw={420}>
        <TextInput
          label="Name"
          required
          maxLength={100}
          disabled={!editable}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={problems["name"]}
        />
        <Select
          label="Default model (baseline)"
          description="The model you would use without routing. Savings are measured against it. A baseline set by a request, key or policy takes precedence."
          searchable
          allowDeselect={false}
          disabled={!editable}
          data={[{ value: "", label: inherited }, ...(unknown ? [model] : []), ...names]}
          value={model}
          onChange={(value) => setModel(value ?? "")}
          error={
            problems["default_model"] ??
            (unknown ? "No provider offers this model. Choose another." : undefined)
          }
        />
        {workspace.pinned_embedding_model && (
          <Text size="sm" c="dimmed">
            For embeddings, auto uses {workspace.pinned_embedding_model}. The model was fixed at first use,
            because vectors of different models are not comparable.
          </Text>
        )}
        {save.error && Object.keys(problems).length === 0 && (
          <ErrorPanel what="Could not save the workspace" error={save.error} />
        )}
        {editable ? (
          <Group>
            <Button type="submit" disabled={!changed || name.trim() === ""} loading={save.isPending}>
              Save
            </Button>
          </Group>
        ) : (
          <Text size="sm" c="dimmed">
            Only owners and admins can change these settings.
          </Text>
        )}
      </Stack>
    </form>
  );
}

function useSave() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: saveWorkspace,
    onSuccess: async (saved) => {
      queryClient.setQueryData(workspaceQuery.queryKey, saved);
      await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
      notifyDone("Workspace saved.");
    },
  });
}
