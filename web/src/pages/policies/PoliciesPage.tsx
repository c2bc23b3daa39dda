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
import { BacktestTab } from "./BacktestTab";
import { isDirty, isReady } from "./draft";
import { draftName, dropDraft } from "./keptDraft";
import { PolicyDesk } from "./PolicyDesk";
import { Ratings } from "./Ratings";
import { RoutesNow } from "./RoutesNow";
import { useDraft, useGuard } from "./useDraft";
import { Versions } from "./Versions";

/** What routes requests: the rules with their editor, their versions, tests of them, and what ratings taught. */
export function PoliciesPage() {
  const book = useQuery(policiesQuery);
  const settings = useQuery(settingsQuery);
  const workspace = useQuery(workspaceQuery);
  const session = useSession();
  const name = draftName(session.account.id, session.workspace.id);
  return (
    <>
      <PageHeader title="Policies" description="Ordered rules for which model may serve a request." />
      {book.error && (
        <ErrorPanel
          what="The policies could not be loaded"
          error={book.error}
          onRetry={() => void book.refetch()}
        />
      )}
      {book.data && settings.data && workspace.data ? (
        <RoutesNow settings={settings.data} workspace={workspace.data} book={book.data} />
      ) : (
        !book.error && !settings.error && !workspace.error && <PanelSkeleton height={96} />
      )}
      {book.data ? (
        <Content key={name} name={name} book={book.data} />
      ) : (
        !book.error && <RowsSkeleton rows={6} height={60} />
      )}
    </>
  );
}

/** The name is that of the draft: another workspace has another one. */
function Content({ name, book }: { name: string; book: Schema["PolicyBook"] }) {
  const [search, change] = useSearchParams();
  const { draft, change: edit, failure } = useDraft(book.workspace, name);
  const dirty = isDirty(draft);
  const guard = useGuard(dirty);
  return (
    <>
      {!book.editable && (
        <Alert
          color="gray"
          variant="outline"
          mb="md"
          icon={<Icon name="shield" size={18} />}
          title="The policies are closed here"
        >
          {book.reason} A dry run and a backtest work all the same.
        </Alert>
      )}
      {failure !== undefined && <ErrorPanel what="The draft could not be checked" error={failure} />}
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
          <PolicyDesk book={book} draft={draft} onEdit={edit} />
        </Tabs.Panel>
        <Tabs.Panel value="versions">
          <Versions editable={book.editable} />
        </Tabs.Panel>
        <Tabs.Panel value="backtest">
          <BacktestTab draft={isReady(draft) ? draft.source : undefined} broken={dirty && !isReady(draft)} />
        </Tabs.Panel>
        <Tabs.Panel value="ratings">
          <Ratings />
        </Tabs.Panel>
      </Tabs>
      <ConfirmDialog
        opened={guard.status === "blocked"}
        title="Leave without saving?"
        action="Leave"
        onConfirm={() => {
          dropDraft(name);
          guard.proceed?.();
        }}
        onClose={() => guard.reset?.()}
      >
        The changes to the policies are not saved. Leaving drops them.
      </ConfirmDialog>
    </>
  );
}
