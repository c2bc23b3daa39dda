import { Anchor, Group, List, Stack, Text } from "@mantine/core";
import { lazy, Suspense, useRef } from "react";

import type { Schema } from "../../api/client";
import { Icon } from "../../components/Icon";
import { PanelSkeleton } from "../../components/Loading";
import { plural } from "../../lib/numbers";
import type { Draft } from "./draft";
import type { EditorHandle } from "./YamlEditor";

// The editor is larger than the rest of the page, so it is loaded lazily.
const YamlEditor = lazy(() => import("./YamlEditor"));

interface Props {
  draft: Draft;
  policySet: Schema["PolicyBook"];
  onChange: (source: string) => void;
}

/** The draft as YAML, with its errors below. */
export function YamlPanel({ draft, policySet, onChange }: Props) {
  const editor = useRef<EditorHandle>(null);
  const problems = draft.check?.problems ?? (draft.edit === 0 ? policySet.workspace.problems : none);
  return (
    <Stack gap="xs">
      <Suspense fallback={<PanelSkeleton height={260} />}>
        <YamlEditor
          handle={editor}
          value={draft.source}
          onChange={onChange}
          problems={problems}
          readOnly={!policySet.editable}
          policySet={policySet}
        />
      </Suspense>
      <Problems draft={draft} problems={problems} onGo={(p) => editor.current?.goTo(p.line, p.column)} />
    </Stack>
  );
}

const none: Schema["PolicyProblem"][] = [];

function Problems({
  draft,
  problems,
  onGo,
}: {
  draft: Draft;
  problems: Schema["PolicyProblem"][];
  onGo: (problem: Schema["PolicyProblem"]) => void;
}) {
  if (problems.length === 0) {
    return (
      <Group gap={6} role="status">
        {draft.check?.ok && <Icon name="check" size={14} />}
        <Text size="xs" c="dimmed">
          {draft.edit > 0 && !draft.check
            ? "Checking…"
            : draft.check?.ok
              ? "Valid"
              : "Press Ctrl+Space for suggestions."}
        </Text>
      </Group>
    );
  }
  return (
    <div role="status" aria-label="Errors">
      <Text size="xs" fw={600}>
        {plural(problems.length, "error")}
      </Text>
      <List size="xs" spacing={2} icon={<Icon name="alert" size={12} />} center={false}>
        {problems.map((problem, i) => (
          <List.Item key={i}>
            <Anchor component="button" type="button" size="xs" onClick={() => onGo(problem)}>
              Line {problem.line}, column {problem.column}
            </Anchor>
            : {problem.message}
            {problem.hint && ` – ${problem.hint}`}{" "}
            <Text span inherit c="dimmed">
              [{problem.code}]
            </Text>
          </List.Item>
        ))}
      </List>
    </div>
  );
}
