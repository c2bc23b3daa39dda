import { Button, Group, Select, Stack, Table, Text, VisuallyHidden } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { policiesQuery, policyDiffQuery, policyVersionsQuery, rollBackPolicies } from "../../api/routing";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PanelSkeleton, RowsSkeleton } from "../../components/Loading";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { notifyDone } from "../../lib/notify";
import { DiffView, diffCount } from "./DiffView";

type Version = Schema["PolicyVersion"];

/** The saved versions with diffs and rollback. */
export function Versions({ editable }: { editable: boolean }) {
  const { data, error, refetch } = useQuery(policyVersionsQuery);
  const [pair, setPair] = useState<[from: number, to: number]>();
  const [back, setBack] = useState<Version>();
  if (error) {
    return <ErrorPanel what="Could not load versions" error={error} onRetry={() => void refetch()} />;
  }
  if (!data) {
    return <RowsSkeleton rows={4} />;
  }
  const newest = data.versions[0];
  if (!newest) {
    return (
      <EmptyState icon="history" title="No versions yet">
        Each save creates a version that you can compare and roll back to.
      </EmptyState>
    );
  }
  const [from, to] = pair ?? [newest.version - 1, newest.version];
  return (
    <>
      <Section title="Saved versions">
        <Table.ScrollContainer minWidth={560}>
          <Table fz="sm" aria-label="Versions">
            <Table.Thead>
              <Table.Tr>
                {["Version", "Saved", "By", "Note"].map((heading) => (
                  <Table.Th key={heading}>{heading}</Table.Th>
                ))}
                <Table.Th>
                  <VisuallyHidden>Actions</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.versions.map((version) => (
                <Row
                  key={version.version}
                  version={version}
                  newest={version === newest}
                  onCompare={() => setPair([version.version - 1, version.version])}
                  onBack={editable && version !== newest ? () => setBack(version) : undefined}
                />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Section>
      <Section title="Differences">
        <Group gap="xs" mb="xs" align="flex-end">
          <VersionSelect
            label="From"
            versions={[{ version: 0 }, ...data.versions]}
            value={from}
            onChange={(next) => setPair([next, to])}
          />
          <VersionSelect
            label="To"
            versions={data.versions}
            value={to}
            onChange={(next) => setPair([from, next])}
          />
        </Group>
        <Diff from={from} to={to} />
      </Section>
      {back && <RollBack version={back} newest={newest} onClose={() => setBack(undefined)} />}
    </>
  );
}

interface RowProps {
  version: Version;
  newest: boolean;
  onCompare: () => void;
  onBack?: () => void;
}

function Row({ version, newest, onCompare, onBack }: RowProps) {
  return (
    <Table.Tr>
      <Table.Td>
        <Text span inherit fw={600}>
          {version.version}
        </Text>
        {newest && " (active)"}
      </Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <Time at={version.saved_at} as="moment" />
      </Table.Td>
      <Table.Td>{version.saved_by_label ?? "—"}</Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{version.note || "—"}</Table.Td>
      <Table.Td>
        <Group gap={6} justify="flex-end" wrap="nowrap">
          <Button size="compact-xs" variant="default" onClick={onCompare}>
            Show changes
          </Button>
          {onBack && (
            <Button
              size="compact-xs"
              variant="default"
              leftSection={<Icon name="history" size={12} />}
              onClick={onBack}
              aria-label={`Roll back to version ${version.version}`}
            >
              Roll back
            </Button>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

interface SelectProps {
  label: string;
  versions: Pick<Version, "version">[];
  value: number;
  onChange: (version: number) => void;
}

function VersionSelect({ label, versions, value, onChange }: SelectProps) {
  return (
    <Select
      size="xs"
      label={label}
      w={150}
      allowDeselect={false}
      data={versions.map(({ version }) => ({
        value: String(version),
        label: version === 0 ? "Empty" : `Version ${version}`,
      }))}
      value={String(value)}
      onChange={(next) => onChange(Number(next))}
    />
  );
}

function Diff({ from, to }: { from: number; to: number }) {
  const { data, error } = useQuery(policyDiffQuery(from, to));
  if (error) {
    return <ErrorPanel what="Could not compare versions" error={error} />;
  }
  return data ? (
    <Stack gap={4}>
      <Text size="xs" c="dimmed">
        {diffCount(data.lines)}
      </Text>
      <DiffView lines={data.lines} label={`From version ${from} to ${to}`} />
    </Stack>
  ) : (
    <PanelSkeleton />
  );
}

/** Saves an earlier version as the newest one. The current version stays in the list. */
function RollBack({ version, newest, onClose }: { version: Version; newest: Version; onClose: () => void }) {
  const queryClient = useQueryClient();
  const back = useMutation({
    mutationFn: () => rollBackPolicies(version.version, newest.version),
    onSuccess: async (saved) => {
      await queryClient.invalidateQueries({ queryKey: policiesQuery.queryKey });
      notifyDone(`Rolled back to version ${version.version}, saved as version ${saved.version}.`);
      onClose();
    },
  });
  return (
    <ConfirmDialog
      opened
      title={`Roll back to version ${version.version}`}
      action="Roll back"
      pending={back.isPending}
      error={back.error && <ErrorPanel what="Could not roll back" error={back.error} />}
      onConfirm={() => back.mutate()}
      onClose={onClose}
    >
      Saves version {version.version} as version {newest.version + 1}, which takes effect immediately. Version{" "}
      {newest.version} stays in the list.
      <Diff from={newest.version} to={version.version} />
    </ConfirmDialog>
  );
}
