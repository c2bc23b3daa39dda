import { ActionIcon, Button, Group, SimpleGrid, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import type { Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { saveWorkspace, workspaceQuery } from "../../api/manage";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { notifyDone } from "../../lib/notify";
import { type Draft, draftOf, effectiveRules, isChanged, maxCustom, rulesOf, withBuiltin } from "./redaction";
import { RedactionTester } from "./RedactionTester";

interface Props {
  workspace: Schema["WorkspaceView"];
  settings: Schema["SettingsView"];
  editable: boolean;
}

/** Rules that redact prompts and responses before they are stored, with a tester. */
export function RedactionForm({ workspace, settings, editable }: Props) {
  const facts = settings.redaction;
  const [draft, setDraft] = useState(() => draftOf(workspace.redaction, facts));
  const save = useSave();
  const problems = save.error ? asApiError(save.error).problems : {};
  const fields = Object.keys(problems).some((param) => param.startsWith("redaction."));
  const change = (next: Draft) => {
    setDraft(next);
    save.reset();
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ redaction: rulesOf(draft, facts) });
  };
  return (
    <Stack gap="lg" maw={720}>
      <form onSubmit={onSubmit}>
        <Stack gap="md">
          <Text size="sm" c="dimmed">
            Replaces matches in prompts, responses, previews and error messages with a placeholder such as
            [redacted: email] before they are stored. Providers receive the original prompt. Data that is
            already stored does not change.
          </Text>
          <Switch
            label="Use the gateway’s default rules"
            description={
              facts.default.length > 0 ? `Default rules: ${facts.default.join(", ")}.` : "No default rules."
            }
            checked={draft.inherit}
            disabled={!editable}
            onChange={(event) => change({ ...draft, inherit: event.currentTarget.checked })}
          />
          {!draft.inherit && (
            <>
              <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
                {facts.builtin.map((rule) => (
                  <Switch
                    key={rule.name}
                    label={rule.name}
                    description={rule.description}
                    checked={draft.builtin.includes(rule.name)}
                    disabled={!editable}
                    onChange={(event) => change(withBuiltin(draft, rule.name, event.currentTarget.checked))}
                  />
                ))}
              </SimpleGrid>
              <CustomRules
                custom={draft.custom}
                editable={editable}
                problems={problems}
                onChange={(custom) => change({ ...draft, custom })}
              />
            </>
          )}
          {save.error && !fields && <ErrorPanel what="Could not save the rules" error={save.error} />}
          {editable && (
            <Group>
              <Button
                type="submit"
                disabled={!isChanged(draft, workspace.redaction, facts)}
                loading={save.isPending}
              >
                Save rules
              </Button>
              <Text size="xs" c="dimmed">
                Applies to new requests. No restart needed.
              </Text>
            </Group>
          )}
        </Stack>
      </form>
      {editable && <RedactionTester rules={effectiveRules(draft, facts)} />}
    </Stack>
  );
}

interface CustomProps {
  custom: Draft["custom"];
  editable: boolean;
  problems: Record<string, string>;
  onChange: (custom: Draft["custom"]) => void;
}

function CustomRules({ custom, editable, problems, onChange }: CustomProps) {
  const set = (at: number, change: Partial<Draft["custom"][number]>) =>
    onChange(custom.map((rule, i) => (i === at ? { ...rule, ...change } : rule)));
  return (
    <Stack gap="xs" role="group" aria-label="Custom rules">
      <Text size="sm" fw={600}>
        Custom rules
      </Text>
      {custom.map((rule, i) => (
        <Group key={i} gap="xs" align="flex-start" wrap="nowrap">
          <TextInput
            w={160}
            aria-label={`Name of rule ${i + 1}`}
            placeholder="Name"
            maxLength={40}
            value={rule.name}
            disabled={!editable}
            error={problems[`redaction.custom[${i}].name`]}
            onChange={(event) => set(i, { name: event.currentTarget.value })}
          />
          <TextInput
            flex={1}
            ff="monospace"
            aria-label={`Pattern of rule ${i + 1}`}
            placeholder="Pattern, such as \bACME-\d{6}\b"
            maxLength={300}
            spellCheck={false}
            value={rule.pattern}
            disabled={!editable}
            error={problems[`redaction.custom[${i}].pattern`]}
            onChange={(event) => set(i, { pattern: event.currentTarget.value })}
          />
          {editable && (
            <ActionIcon
              variant="subtle"
              color="red"
              size={36}
              aria-label={`Remove rule ${rule.name || i + 1}`}
              onClick={() => onChange(custom.filter((_, at) => at !== i))}
            >
              <Icon name="trash" size={16} />
            </ActionIcon>
          )}
        </Group>
      ))}
      {editable && (
        <Group gap="sm">
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon name="plus" size={14} />}
            disabled={custom.length >= maxCustom}
            onClick={() => onChange([...custom, { name: "", pattern: "" }])}
          >
            Add rule
          </Button>
          <Text size="xs" c="dimmed">
            Regular expressions in RE2 syntax, up to {maxCustom} rules.
          </Text>
        </Group>
      )}
      {!editable && custom.length === 0 && (
        <Text size="sm" c="dimmed">
          None.
        </Text>
      )}
    </Stack>
  );
}

function useSave() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: saveWorkspace,
    onSuccess: (saved) => {
      queryClient.setQueryData(workspaceQuery.queryKey, saved);
      notifyDone("Redaction rules saved.");
    },
  });
}
