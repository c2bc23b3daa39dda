import { Alert, Button, Card, Group, SegmentedControl, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { type Dispatch, useState } from "react";

import type { Schema } from "../../api/client";
import { type Policy, policiesQuery, policyHitsQuery } from "../../api/routing";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { EmptyState } from "../../components/EmptyState";
import { Icon } from "../../components/Icon";
import { Section } from "../../components/Section";
import { useSession } from "../../lib/session";
import { type Action, type Draft, isFormCurrent, isDirty, problemsAt } from "./draft";
import { DryRun } from "./DryRun";
import { examples, uniqueName } from "./examples";
import { PolicyForm } from "./PolicyForm";
import { PolicyList } from "./PolicyList";
import classes from "./policies.module.css";
import { SaveDialog } from "./SaveDialog";
import { UnsavedBar } from "./UnsavedBar";
import { YamlPanel } from "./YamlPanel";

interface Props {
  policySet: Schema["PolicyBook"];
  draft: Draft;
  onEdit: Dispatch<Action>;
}

/** The policy list with its forms, next to the YAML editor or a dry run. */
export function PolicyEditor({ policySet, draft, onEdit }: Props) {
  // Other pages can pass a request body for a dry run in the navigation state.
  const start = useLocation({ select: ({ state }) => (state as { dryRun?: string }).dryRun });
  const [tool, setTool] = useState<"yaml" | "dry-run">(start ? "dry-run" : "yaml");
  const [saving, setSaving] = useState(false);
  const [discarding, setDiscarding] = useState(false);
  const { refetch } = useQuery(policiesQuery);
  const reload = async () => {
    const newest = await refetch();
    if (newest.data) {
      onEdit({ type: "reset", saved: newest.data.workspace });
    }
    setSaving(false);
    setDiscarding(false);
  };
  return (
    <>
      <div className={classes.sides}>
        <Rules policySet={policySet} draft={draft} onEdit={onEdit} />
        <div className={classes.tools}>
          <SegmentedControl
            size="xs"
            mb="sm"
            aria-label="Tool"
            value={tool}
            onChange={(value) => setTool(value as "yaml" | "dry-run")}
            data={[
              { value: "yaml", label: "YAML" },
              { value: "dry-run", label: "Dry run" },
            ]}
          />
          <div hidden={tool !== "yaml"}>
            <YamlPanel
              draft={draft}
              policySet={policySet}
              onChange={(source) => onEdit({ type: "yaml", source })}
            />
          </div>
          <div hidden={tool !== "dry-run"}>
            <DryRun
              key={start}
              source={draft.source}
              changed={isDirty(draft)}
              ready={!isDirty(draft) || draft.check?.ok === true}
              start={start}
            />
          </div>
        </div>
      </div>
      <UnsavedBar
        draft={draft}
        newer={policySet.workspace.version !== draft.basedOn}
        onSave={() => setSaving(true)}
        onDiscard={() => setDiscarding(true)}
      />
      <SaveDialog
        draft={draft}
        opened={saving}
        onClose={() => setSaving(false)}
        onSaved={(saved) => {
          onEdit({ type: "reset", saved });
          setSaving(false);
        }}
        onReload={() => void reload()}
      />
      <ConfirmDialog
        opened={discarding}
        title="Discard changes?"
        action="Discard"
        onConfirm={() => void reload()}
        onClose={() => setDiscarding(false)}
      >
        {draft.basedOn === 0
          ? "All unsaved policies are lost."
          : `All changes since version ${draft.basedOn} are lost.`}
      </ConfirmDialog>
    </>
  );
}

/** The global policies, which come first and are read-only, and the workspace policies. */
function Rules({ policySet, draft, onEdit }: Props) {
  const { may } = useSession();
  const hits = useQuery({ ...policyHitsQuery, enabled: may("read_policies") });
  const [opened, setOpened] = useState<number>();
  const change = (policies: Policy[]) => onEdit({ type: "form", policies });
  const add = (policy: Policy) => {
    change([...draft.policies, { ...policy, name: uniqueName(policy.name, draft.policies) }]);
    setOpened(draft.policies.length);
  };
  const formCurrent = isFormCurrent(draft);
  return (
    <div>
      {policySet.instance.policies.length > 0 && (
        <Section title="Global policies">
          <Text size="xs" c="dimmed" mb="xs">
            {policySet.instance.file ? (
              <>
                Set in <code>{policySet.instance.file}</code>.
              </>
            ) : (
              "Set in the gateway configuration."
            )}{" "}
            They are evaluated first and cannot be overridden.
          </Text>
          <PolicyList policies={policySet.instance.policies} hits={hits.data?.policies} source="instance" />
        </Section>
      )}
      <Section
        title="Workspace policies"
        actions={
          policySet.editable &&
          formCurrent && (
            <Button
              size="xs"
              variant="default"
              leftSection={<Icon name="plus" size={14} />}
              onClick={() => add({ name: "new-policy", objective: "cost" })}
            >
              Add policy
            </Button>
          )
        }
      >
        {!formCurrent && (
          <Alert color="yellow" variant="outline" py={6} mb="xs" icon={<Icon name="alert" size={16} />}>
            The YAML has errors. The list shows the last valid policies until they are fixed.
          </Alert>
        )}
        {draft.policies.length === 0 ? (
          <NoPolicies onAdd={policySet.editable && formCurrent ? add : undefined} />
        ) : (
          <PolicyList
            policies={draft.policies}
            hits={hits.data?.policies}
            source="workspace"
            editing={
              policySet.editable && formCurrent
                ? {
                    problems: draft.check?.problems,
                    opened,
                    onOpen: setOpened,
                    onChange: change,
                    form: (policy, i) => (
                      <PolicyForm
                        policy={policy}
                        policySet={policySet}
                        problems={problemsAt(draft.check?.problems, i)}
                        onChange={(next) => change(draft.policies.map((p, at) => (at === i ? next : p)))}
                      />
                    ),
                  }
                : undefined
            }
          />
        )}
      </Section>
    </div>
  );
}

/** Explains policies and offers examples. */
function NoPolicies({ onAdd }: { onAdd?: (policy: Policy) => void }) {
  return (
    <>
      <EmptyState icon="route" title="No workspace policies yet">
        The router chooses by quality and cost only. A policy can deny requests, pin or restrict models,
        change the objective or set limits.
      </EmptyState>
      {onAdd && (
        <Stack gap="xs">
          <Text size="sm" fw={600}>
            Start with an example
          </Text>
          <SimpleGrid cols={1} spacing="xs">
            {examples.map(({ title, why, policy }) => (
              <Card key={title} withBorder p="sm">
                <Group justify="space-between" wrap="nowrap" align="flex-start">
                  <div>
                    <Text size="sm" fw={600}>
                      {title}
                    </Text>
                    <Text size="xs" c="dimmed">
                      {why}
                    </Text>
                  </div>
                  <Button
                    size="xs"
                    variant="default"
                    aria-label={`Insert: ${title}`}
                    style={{ flexShrink: 0 }}
                    onClick={() => onAdd(policy)}
                  >
                    Insert
                  </Button>
                </Group>
              </Card>
            ))}
          </SimpleGrid>
        </Stack>
      )}
    </>
  );
}
