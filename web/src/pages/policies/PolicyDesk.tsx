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
import { type Action, type Draft, formFollows, isDirty, problemsAt } from "./draft";
import { DryRun } from "./DryRun";
import { examples, freeName } from "./examples";
import { PolicyForm } from "./PolicyForm";
import { PolicyList } from "./PolicyList";
import classes from "./policies.module.css";
import { SaveDialog } from "./SaveDialog";
import { UnsavedBar } from "./UnsavedBar";
import { YamlPanel } from "./YamlPanel";

interface Props {
  book: Schema["PolicyBook"];
  draft: Draft;
  onEdit: Dispatch<Action>;
}

/** The list with its forms on one side; the same as text, or a dry run, on the other. */
export function PolicyDesk({ book, draft, onEdit }: Props) {
  // A page that has a body at hand passes it along with the way here.
  const start = useLocation({ select: ({ state }) => (state as { dryRun?: string }).dryRun });
  const [tool, setTool] = useState<"yaml" | "dry-run">(start ? "dry-run" : "yaml");
  const [saving, setSaving] = useState(false);
  const [discarding, setDiscarding] = useState(false);
  const { refetch } = useQuery(policiesQuery);
  const reload = async () => {
    const newest = await refetch();
    if (newest.data) {
      onEdit({ type: "reset", held: newest.data.workspace });
    }
    setSaving(false);
    setDiscarding(false);
  };
  return (
    <>
      <div className={classes.sides}>
        <Rules book={book} draft={draft} onEdit={onEdit} />
        <div className={classes.tools}>
          <SegmentedControl
            size="xs"
            mb="sm"
            aria-label="Beside the list"
            value={tool}
            onChange={(value) => setTool(value as "yaml" | "dry-run")}
            data={[
              { value: "yaml", label: "YAML" },
              { value: "dry-run", label: "Dry run" },
            ]}
          />
          <div hidden={tool !== "yaml"}>
            <YamlPanel draft={draft} book={book} onChange={(source) => onEdit({ type: "text", source })} />
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
        newer={book.workspace.version !== draft.basedOn}
        onSave={() => setSaving(true)}
        onDiscard={() => setDiscarding(true)}
      />
      <SaveDialog
        draft={draft}
        opened={saving}
        onClose={() => setSaving(false)}
        onSaved={(held) => {
          onEdit({ type: "reset", held });
          setSaving(false);
        }}
        onReload={() => void reload()}
      />
      <ConfirmDialog
        opened={discarding}
        title="Discard the changes?"
        action="Discard"
        onConfirm={() => void reload()}
        onClose={() => setDiscarding(false)}
      >
        What you changed since {draft.basedOn === 0 ? "the beginning" : `version ${draft.basedOn}`} is
        dropped.
      </ConfirmDialog>
    </>
  );
}

/** The instance's policies, which come first and are only to be read, and the workspace's own. */
function Rules({ book, draft, onEdit }: Props) {
  const { may } = useSession();
  const hits = useQuery({ ...policyHitsQuery, enabled: may("read_policies") });
  const [opened, setOpened] = useState<number>();
  const change = (policies: Policy[]) => onEdit({ type: "form", policies });
  const add = (policy: Policy) => {
    change([...draft.policies, { ...policy, name: freeName(policy.name, draft.policies) }]);
    setOpened(draft.policies.length);
  };
  const follows = formFollows(draft);
  return (
    <div>
      {book.instance.policies.length > 0 && (
        <Section title="Of the instance">
          <Text size="xs" c="dimmed" mb="xs">
            {book.instance.file ? (
              <>
                From <code>{book.instance.file}</code>.
              </>
            ) : (
              "From the gateway’s configuration."
            )}{" "}
            They come first, and what they decide no policy below can undo.
          </Text>
          <PolicyList policies={book.instance.policies} hits={hits.data?.policies} source="instance" />
        </Section>
      )}
      <Section
        title="Of this workspace"
        actions={
          book.editable &&
          follows && (
            <Button
              size="xs"
              variant="default"
              leftSection={<Icon name="plus" size={14} />}
              onClick={() => add({ name: "new-policy", objective: "cost" })}
            >
              Add a policy
            </Button>
          )
        }
      >
        {!follows && (
          <Alert color="yellow" variant="outline" py={6} mb="xs" icon={<Icon name="alert" size={16} />}>
            The text has problems. The list shows what it said before, and opens again when they are solved.
          </Alert>
        )}
        {draft.policies.length === 0 ? (
          <Nothing onAdd={book.editable && follows ? add : undefined} />
        ) : (
          <PolicyList
            policies={draft.policies}
            hits={hits.data?.policies}
            source="workspace"
            editing={
              book.editable && follows
                ? {
                    problems: draft.check?.problems,
                    opened,
                    onOpen: setOpened,
                    onChange: change,
                    form: (policy, i) => (
                      <PolicyForm
                        policy={policy}
                        book={book}
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

/** What policies do, and three to begin with. */
function Nothing({ onAdd }: { onAdd?: (policy: Policy) => void }) {
  return (
    <>
      <EmptyState icon="route" title="No policies of this workspace">
        The router chooses by score alone. A policy says: when a request is like this, refuse it, pin it to a
        model, narrow the choice, aim for something else, or set a limit.
      </EmptyState>
      {onAdd && (
        <Stack gap="xs">
          <Text size="sm" fw={600}>
            Begin with an example
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
