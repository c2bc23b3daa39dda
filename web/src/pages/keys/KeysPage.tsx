import { Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import type { Schema } from "../../api/client";
import { membersQuery } from "../../api/manage";
import { keysQuery } from "../../api/queries";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { RowsSkeleton } from "../../components/Loading";
import { Money } from "../../components/Money";
import { PageHeader } from "../../components/PageHeader";
import { useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { type KeyActions, keyColumns, KeyMenu, StateOf } from "./columns";
import { CreateKeyDialog, EditKeyDialog, RevokeKeyDialog, RotateKeyDialog } from "./KeyDialogs";
import { keyHint } from "./keyState";
import { SecretDialog } from "./SecretDialog";

type KeyView = Schema["KeyView"];

/** The API keys of the workspace. */
export function KeysPage() {
  const { may, account } = useSession();
  const [search, setSearch] = useSearchParams();
  const [created, setCreated] = useState<Schema["NewKey"]>();
  const [editing, setEditing] = useState<KeyView>();
  const [rotating, setRotating] = useState<KeyView>();
  const [revoking, setRevoking] = useState<KeyView>();
  const show = (key: Schema["NewKey"]) => {
    setSearch({ create: undefined });
    setRotating(undefined);
    setCreated(key);
  };
  const [all, own] = [may("manage_keys"), may("manage_own_keys")];
  const actions = useMemo<KeyActions>(
    () => ({
      onEdit: setEditing,
      onRotate: setRotating,
      onRevoke: setRevoking,
      mayChange: (key) => all || (own && key.created_by === account.id),
    }),
    [all, own, account.id],
  );
  return (
    <>
      <PageHeader
        title="API keys"
        description="Use these keys to call the API from your servers."
        actions={
          may("manage_own_keys") && (
            <Button leftSection={<Icon name="plus" />} onClick={() => setSearch({ create: "1" })}>
              Create key
            </Button>
          )
        }
      />
      <KeyList
        state={search["state"] ?? "active"}
        onState={(state) => setSearch({ state })}
        actions={actions}
      />
      <CreateKeyDialog
        opened={search["create"] !== undefined}
        onClose={() => setSearch({ create: undefined })}
        onCreated={show}
      />
      <SecretDialog created={created} onClose={() => setCreated(undefined)} />
      <EditKeyDialog target={editing} onClose={() => setEditing(undefined)} />
      <RotateKeyDialog target={rotating} onClose={() => setRotating(undefined)} onRotated={show} />
      <RevokeKeyDialog target={revoking} onClose={() => setRevoking(undefined)} />
    </>
  );
}

function KeyList({
  state,
  onState,
  actions,
}: {
  state: string;
  onState: (state: string) => void;
  actions: KeyActions;
}) {
  const { data, error, isPending, isFetching, refetch } = useQuery(keysQuery);
  const { data: people } = useQuery(membersQuery);
  // Stable columns, so that opening a dialog does not render hundreds of rows again.
  const shownColumns = useMemo(() => keyColumns(actions, people?.members), [actions, people]);
  if (error) {
    return <ErrorPanel what="Could not load keys" error={error} onRetry={() => void refetch()} />;
  }
  if (isPending) {
    return <RowsSkeleton rows={4} height={44} />;
  }
  const shown = data.keys.filter(
    (key) => state === "all" || (state === "revoked") === (key.state === "revoked"),
  );
  return (
    <Stack gap="sm">
      <SegmentedControl
        size="xs"
        w="fit-content"
        aria-label="Filter by state"
        data={[
          { value: "active", label: "Active" },
          { value: "revoked", label: "Revoked" },
          { value: "all", label: "All" },
        ]}
        value={state}
        onChange={onState}
      />
      {shown.length === 0 ? (
        <NoKeys state={state} />
      ) : (
        <DataTable
          label="API keys"
          rows={shown}
          columns={shownColumns}
          rowKey={(key) => key.id}
          dimmed={isFetching && !data}
          phone={(key) => ({
            top: (
              <>
                <Text fw={600} truncate>
                  {key.name}
                </Text>
                <Group gap="xs" wrap="nowrap">
                  <StateOf target={key} />
                  <KeyMenu target={key} {...actions} />
                </Group>
              </>
            ),
            bottom: (
              <>
                <Text size="xs" c="dimmed" ff="monospace">
                  {keyHint(key)}
                </Text>
                <Money amount={key.spend_30d_usd} />
              </>
            ),
          })}
        />
      )}
    </Stack>
  );
}

function NoKeys({ state }: { state: string }) {
  if (state === "revoked") {
    return <EmptyState icon="key" title="No revoked keys" />;
  }
  return (
    <EmptyState icon="key" title="No API keys yet">
      Create a key to call the API from your server. The Quickstart shows how.
    </EmptyState>
  );
}
