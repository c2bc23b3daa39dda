import { Button, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, type Schema } from "../../api/client";
import { invitationsQuery } from "../../api/manage";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { type Column, DataTable } from "../../components/DataTable";
import { ErrorPanel } from "../../components/ErrorPanel";
import { RowsSkeleton } from "../../components/Loading";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { notifyDone } from "../../lib/notify";

type Invitation = Schema["InvitationView"];

/** The open invitations, with buttons to revoke them. */
export function Invitations({ names }: { names: Record<string, string> }) {
  const { data, error, refetch } = useQuery(invitationsQuery);
  const [revoking, setRevoking] = useState<Invitation>();
  const revoke = useRevoke(() => setRevoking(undefined));
  const button = (row: Invitation) => (
    <Button
      size="compact-xs"
      variant="default"
      onClick={() => setRevoking(row)}
      aria-label={`Revoke the ${row.role} invitation`}
    >
      Revoke
    </Button>
  );
  const columns: Column<Invitation>[] = [
    { id: "role", label: "Role", render: (row) => row.role },
    { id: "by", label: "Created by", render: (row) => names[row.created_by] ?? row.created_by },
    { id: "created", label: "Created", render: (row) => <Time at={row.created_at} as="age" /> },
    { id: "expires", label: "Expires", render: (row) => <Time at={row.expires_at} as="age" /> },
    { id: "revoke", label: "Actions", render: button },
  ];
  return (
    <Section title="Open invitations">
      {error && <ErrorPanel what="Could not load invitations" error={error} onRetry={() => void refetch()} />}
      {!data && !error && <RowsSkeleton rows={2} />}
      {data?.invitations.length === 0 && (
        <Text size="sm" c="dimmed">
          No open invitations.
        </Text>
      )}
      {data && data.invitations.length > 0 && (
        <DataTable
          label="Invitation list"
          rows={data.invitations}
          columns={columns}
          rowKey={(row) => row.id}
          phone={(row) => ({
            top: (
              <>
                <strong>{row.role}</strong>
                {button(row)}
              </>
            ),
            bottom: (
              <>
                <span>{names[row.created_by] ?? row.created_by}</span>
                <Time at={row.expires_at} as="age" />
              </>
            ),
          })}
        />
      )}
      <ConfirmDialog
        opened={revoking !== undefined}
        title={`Revoke the ${revoking?.role} invitation`}
        action="Revoke invitation"
        pending={revoke.isPending}
        error={revoke.error && <ErrorPanel what="Could not revoke the invitation" error={revoke.error} />}
        onConfirm={() => revoking && revoke.mutate(revoking)}
        onClose={() => setRevoking(undefined)}
      >
        The invitation link stops working immediately.
      </ConfirmDialog>
    </Section>
  );
}

function useRevoke(onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (row: Invitation) =>
      api.DELETE("/workspace/invitations/{id}", { params: { path: { id: row.id } } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey });
      notifyDone("Invitation revoked.");
      onDone();
    },
  });
}
