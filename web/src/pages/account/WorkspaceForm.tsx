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

/** The name of the workspace and the model that savings are measured against. */
export function WorkspaceSettings() {
  const { may } = useSession();
  const workspace = useQuery(workspaceQuery);
  const settings = useQuery(settingsQuery);
  const models = useQuery(modelsQuery);
  const error = workspace.error ?? settings.error;
  if (error) {
    return (
      <ErrorPanel
        what="The workspace could not be loaded"
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
  const own = settings.default_model
    ? `The gateway’s: ${settings.default_model}`
    : "None: the priciest candidate";
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
          description="What you would use without routing: savings are measured against it, from the next request on. A caller, key or policy that names a model comes first."
          searchable
          allowDeselect={false}
          disabled={!editable}
          data={[{ value: "", label: own }, ...(unknown ? [model] : []), ...names]}
          value={model}
          onChange={(value) => setModel(value ?? "")}
          error={
            problems["default_model"] ??
            (unknown ? "No provider here offers this model: choose another." : undefined)
          }
        />
        {workspace.pinned_embedding_model && (
          <Text size="sm" c="dimmed">
            auto for embeddings means {workspace.pinned_embedding_model}. It was fixed at first use, because
            vectors of different models do not mix.
          </Text>
        )}
        {save.error && Object.keys(problems).length === 0 && (
          <ErrorPanel what="The workspace was not saved" error={save.error} />
        )}
        {editable ? (
          <Group>
            <Button type="submit" disabled={!changed || name.trim() === ""} loading={save.isPending}>
              Save
            </Button>
          </Group>
        ) : (
          <Text size="sm" c="dimmed">
            Owners and admins change these.
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
    onSuccess: async (held) => {
      queryClient.setQueryData(workspaceQuery.queryKey, held);
      await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
      notifyDone("Workspace saved, and read back from the gateway.");
    },
  });
}
