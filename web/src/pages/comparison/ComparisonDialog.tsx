import { Button, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { modelsQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { notifyDone } from "../../lib/notify";
import { chatModels } from "../playground/ModelSelect";
import {
  amount,
  comparisonBody,
  type ComparisonDraft,
  comparisonDraft,
  type ComparisonSettings,
} from "./draft";

/** The comparison of the workspace with a baseline model. */
export const comparisonQuery = queryOptions({
  queryKey: ["comparison"],
  queryFn: () => must(api.GET("/workspace/comparison")),
});

/** Starts, changes or ends the comparison of routed responses with a baseline model. */
export function ComparisonDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Compare with a baseline model" size="lg">
      {opened && <LoadedForm onClose={onClose} />}
    </Modal>
  );
}

function LoadedForm({ onClose }: { onClose: () => void }) {
  const state = useQuery(comparisonQuery);
  if (state.error) {
    return (
      <ErrorPanel
        what="Could not load the comparison"
        error={state.error}
        onRetry={() => void state.refetch()}
      />
    );
  }
  return state.data ? (
    <ComparisonForm state={state.data} onClose={onClose} />
  ) : (
    <PanelSkeleton height={320} />
  );
}

function ComparisonForm({ state, onClose }: { state: Schema["ComparisonState"]; onClose: () => void }) {
  const [draft, setDraft] = useState(() => comparisonDraft(state.settings));
  const save = useSave(onClose);
  const problems = save.error ? asApiError(save.error).problems : {};
  const body = comparisonBody(draft);
  const change = (changed: Partial<ComparisonDraft>) => setDraft({ ...draft, ...changed });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (body) {
      save.mutate(body);
    }
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          Also sends a random share of the auto requests to the baseline model and compares the two responses.
          This happens after the client has received its response. Clients, limits and budgets are not
          affected.
        </Text>
        <Group grow align="flex-start">
          <Share
            label="Compared requests"
            description="Share of routed requests."
            max={100}
            value={draft.share}
            onChange={(share) => change({ share })}
            error={problems["settings.share"]}
          />
          <Share
            label="Holdout"
            description="Share of routed requests served by the baseline model."
            max={50}
            value={draft.holdout}
            onChange={(holdout) => change({ holdout })}
            error={problems["settings.holdout"]}
          />
        </Group>
        <Group grow align="flex-start">
          <ModelField
            label="Baseline model"
            description="The model you would use without routing."
            value={draft.baseline}
            onChange={(baseline) => change({ baseline })}
            error={problems["settings.baseline"]}
            required
          />
          <TextInput
            label="Budget per month"
            description="Comparisons stop when it is spent."
            leftSection="$"
            inputMode="decimal"
            required
            value={draft.budget}
            onChange={(event) => change({ budget: event.currentTarget.value })}
            error={
              problems["settings.budget_usd"] ??
              (amount(draft.budget) === undefined ? "Enter an amount above 0, such as 10" : undefined)
            }
          />
        </Group>
        <ModelField
          label="Judge model"
          description="Compares responses when checks cannot decide. Its vendor must differ from the vendors of both models. Leave empty to use only checks."
          value={draft.judge}
          onChange={(judge) => change({ judge })}
          error={problems["settings.judge"]}
        />
        <TextInput
          label="Hook URL"
          description="Receives both responses and returns a score from -1 to 1. Optional."
          placeholder="https://example.com/score"
          value={draft.hook}
          onChange={(event) => change({ hook: event.currentTarget.value })}
          error={problems["settings.hook"]}
        />
        {state.judge && state.judge.model === draft.judge && <JudgeBias judge={state.judge} />}
        {save.error && Object.keys(problems).length === 0 && (
          <ErrorPanel what="Could not save the comparison" error={save.error} />
        )}
        <Group justify="flex-end">
          {state.settings && (
            <Button variant="default" mr="auto" loading={save.isPending} onClick={() => save.mutate(null)}>
              End comparison
            </Button>
          )}
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending} disabled={!body}>
            {state.settings ? "Save" : "Start comparison"}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The measured bias of the judge. */
function JudgeBias({ judge }: { judge: Schema["JudgeView"] }) {
  return (
    <Text size="sm" c={judge.refused ? "red" : "dimmed"}>
      {judge.refused
        ? `This judge cannot be used. ${judge.refused}`
        : `Judge bias in points: position ${judge.position} (${judge.corrected} when both orders are judged), length ${judge.length}, own responses ${judge.family}. Accuracy on pairs with a known winner: ${Math.round(judge.accuracy * 100)} %.`}
    </Text>
  );
}

interface ShareProps {
  label: string;
  description: string;
  max: number;
  value: number | "";
  onChange: (share: number | "") => void;
  error: string | undefined;
}

function Share({ label, description, max, value, onChange, error }: ShareProps) {
  return (
    <NumberInput
      label={label}
      description={description}
      suffix=" %"
      min={0}
      max={max}
      decimalScale={2}
      value={value}
      onChange={(share) => onChange(typeof share === "number" ? share : "")}
      error={error}
    />
  );
}

interface ModelFieldProps {
  label: string;
  description: string;
  value: string;
  onChange: (model: string) => void;
  error: string | undefined;
  required?: boolean;
}

function ModelField({ label, description, value, onChange, error, required = false }: ModelFieldProps) {
  const models = useQuery(modelsQuery);
  const names = chatModels(models.data?.models).map((model) => model.name);
  return (
    <Select
      label={label}
      description={description}
      placeholder={required ? "Select a model" : "None"}
      searchable
      required={required}
      clearable={!required}
      data={value && !names.includes(value) ? [value, ...names] : names}
      value={value || null}
      onChange={(model) => onChange(model ?? "")}
      error={error}
    />
  );
}

function useSave(onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (settings: ComparisonSettings | null) =>
      must(api.PUT("/workspace/comparison", { body: { settings } })),
    onSuccess: (saved) => {
      queryClient.setQueryData(comparisonQuery.queryKey, saved);
      notifyDone(saved.settings ? "Comparison saved." : "Comparison ended.");
      onDone();
    },
  });
}
