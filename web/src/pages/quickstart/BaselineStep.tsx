import { Autocomplete, Button, Group, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { saveWorkspace, settingsQuery, workspaceQuery } from "../../api/manage";
import { modelsQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { baselineModels, baselineOf, priceText } from "../../lib/baseline";
import { useSession } from "../../lib/session";
import { Step } from "./Step";

/** Sets the model that savings are measured against. */
export function BaselineStep({ number }: { number: number }) {
  const { may } = useSession();
  const workspace = useQuery(workspaceQuery);
  const settings = useQuery(settingsQuery);
  const models = useQuery(modelsQuery);
  const [changing, setChanging] = useState(false);
  if (!workspace.data || !settings.data) {
    const error = workspace.error ?? settings.error;
    return (
      <Step number={number} done={false} title="Which model do you use today?">
        {error && <ErrorPanel what="Could not load the workspace" error={error} />}
      </Step>
    );
  }
  const baseline = baselineOf(workspace.data, settings.data);
  const editable = may("manage_workspace");
  return (
    <Step number={number} done={baseline !== null} title="Which model do you use today?">
      {baseline !== null && !changing ? (
        <Group gap="sm">
          <Text size="sm">
            Savings are measured against <strong>{baseline}</strong>.
          </Text>
          {editable && (
            <Button size="compact-xs" variant="subtle" onClick={() => setChanging(true)}>
              Change
            </Button>
          )}
        </Group>
      ) : (
        <>
          <Text size="sm" mb="xs">
            This model becomes the baseline for savings. Until you set one, pages show costs without savings.
            You can skip this step and set it later in Settings.
          </Text>
          {editable ? (
            <BaselineForm
              models={models.data?.models ?? []}
              usual={settings.data.usual_models}
              onSaved={() => setChanging(false)}
            />
          ) : (
            <Text size="sm" c="dimmed">
              Only owners and admins can set the baseline.
            </Text>
          )}
        </>
      )}
    </Step>
  );
}

interface FormProps {
  models: Schema["ModelView"][];
  /** Suggested models: the best, one of the middle and the cheapest. */
  usual: string[];
  onSaved: () => void;
}

function BaselineForm({ models, usual, onSaved }: FormProps) {
  const [model, setModel] = useState("");
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn: saveWorkspace,
    onSuccess: (saved) => {
      queryClient.setQueryData(workspaceQuery.queryKey, saved);
      onSaved();
    },
  });
  const problem = save.error
    ? (asApiError(save.error).problems["default_model"] ?? save.error.message)
    : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate({ default_model: model.trim() });
      }}
    >
      <Group gap="xs" mb="xs">
        {usual.map((name) => (
          <Button
            key={name}
            variant="default"
            disabled={save.isPending}
            onClick={() => save.mutate({ default_model: name })}
          >
            {name}
            <Text span size="xs" c="dimmed" ml={6}>
              {priceText(models.find((m) => m.name === name))}
            </Text>
          </Button>
        ))}
      </Group>
      <Group gap="sm" align="flex-start">
        <Autocomplete
          aria-label="Model you use today"
          placeholder="Another model"
          flex="1 1 240px"
          maw={360}
          limit={50}
          data={baselineModels(models)}
          value={model}
          onChange={setModel}
          error={problem}
        />
        <Button type="submit" loading={save.isPending} disabled={model.trim() === ""}>
          Set baseline
        </Button>
      </Group>
    </form>
  );
}
