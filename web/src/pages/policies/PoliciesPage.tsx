import { Alert, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Schema } from "../../api/client";
import { settingsQuery, workspaceQuery } from "../../api/manage";
import { policiesQuery } from "../../api/routing";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PanelSkeleton, RowsSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { LearnedSection } from "../learning/LearnedSection";
import { BacktestTab } from "./BacktestTab";
import { isDirty, isReady } from "./draft";
import { draftName, removeDraft } from "./storedDraft";
import { PolicyEditor } from "./PolicyEditor";
import { ActiveRouting } from "./ActiveRouting";
import { useDraft, useGuard } from "./useDraft";
import { Versions } from "./Versions";

/** The policies with their editor, versions, backtests and ratings. */
export function PoliciesPage() {
  const policySet = useQuery(policiesQuery);
  const settings = useQuery(settingsQuery);
  const workspace = useQuery(workspaceQuery);
  const session = useSession();
  const name = draftName(session.account.id, session.workspace.id);
  return (
    <>
      <PageHeader title="Policies" description="Ordered rules that restrict, prefer, pin or deny models" />
      {policySet.error && (
        <ErrorPanel
          what="Could not load policies"
          error={policySet.error}
          onRetry={() => void policySet.refetch()}
        />
      )}
      {policySet.data && settings.data && workspace.data ? (
        <ActiveRouting settings={settings.data} workspace={workspace.data} policySet={policySet.data} />
      ) : (
        !policySet.error && !settings.error && !workspace.error && <PanelSkeleton height={96} />
      )}
      {policySet.data ? (
        <Content key={name} name={name} policySet={policySet.data} />
      ) : (
        !policySet.error && <RowsSkeleton rows={6} height={60} />
      )}
    </>
  );
}

/** The tabs. The name identifies the draft of this account and workspace. */
function Content({ name, policySet }: { name: string; policySet: Schema["PolicyBook"] }) {
  const [search, change] = useSearchParams();
  const { draft, change: edit, failure } = useDraft(policySet.workspace, name);
  const dirty = isDirty(draft);
  const guard = useGuard(dirty);
  return (
    <>
      {!policySet.editable && (
        <Alert
          color="gray"
          variant="outline"
          mb="md"
          icon={<Icon name="shield" size={18} />}
          title="Policies are read-only here"
        >
          {policySet.reason} You can still run dry runs and backtests.
        </Alert>
      )}
      {failure !== undefined && <ErrorPanel what="Could not check the draft" error={failure} />}
      <Tabs
        keepMounted={false}
        value={search["tab"] ?? "policies"}
        onChange={(tab) => change({ tab: tab === "policies" ? undefined : (tab ?? undefined) })}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="policies">Policies</Tabs.Tab>
          <Tabs.Tab value="versions">Versions</Tabs.Tab>
          <Tabs.Tab value="backtest">Backtest</Tabs.Tab>
          <Tabs.Tab value="ratings">Ratings</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="policies">
          <PolicyEditor policySet={policySet} draft={draft} onEdit={edit} />
        </Tabs.Panel>
        <Tabs.Panel value="versions">
          <Versions editable={policySet.editable} />
        </Tabs.Panel>
        <Tabs.Panel value="backtest">
          <BacktestTab draft={isReady(draft) ? draft.source : undefined} broken={dirty && !isReady(draft)} />
        </Tabs.Panel>
        <Tabs.Panel value="ratings">
          <LearnedSection />
        </Tabs.Panel>
      </Tabs>
      <ConfirmDialog
        opened={guard.status === "blocked"}
        title="Leave without saving?"
        action="Leave"
        onConfirm={() => {
          removeDraft(name);
          guard.proceed?.();
        }}
        onClose={() => guard.reset?.()}
      >
        Your changes to the policies are not saved and will be lost.
      </ConfirmDialog>
    </>
  );
}
