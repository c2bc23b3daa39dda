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

/** The invitations that nobody has used yet. */
export function Invitations({ names }: { names: Record<string, string> }) {
  const { data, error, refetch } = useQuery(invitationsQuery);
  const [ending, setEnding] = useState<Invitation>();
  const end = useEnd(() => setEnding(undefined));
  const button = (row: Invitation) => (
    <Button
      size="compact-xs"
      variant="default"
      onClick={() => setEnding(row)}
      aria-label={`End the invitation as ${row.role}`}
    >
      End
    </Button>
  );
  const columns: Column<Invitation>[] = [
    { id: "role", label: "Role", render: (row) => row.role },
    { id: "by", label: "Made by", render: (row) => names[row.created_by] ?? row.created_by },
    { id: "made", label: "Made", render: (row) => <Time at={row.created_at} as="age" /> },
    { id: "expires", label: "Expires", render: (row) => <Time at={row.expires_at} as="age" /> },
    { id: "end", label: "Actions", render: button },
  ];
  return (
    <Section title="Open invitations">
      {error && (
        <ErrorPanel what="The invitations could not be loaded" error={error} onRetry={() => void refetch()} />
      )}
      {!data && !error && <RowsSkeleton rows={2} />}
      {data?.invitations.length === 0 && (
        <Text size="sm" c="dimmed">
          None. A link that was used, ended or has expired is not listed.
        </Text>
      )}
      {data && data.invitations.length > 0 && (
        <DataTable
          label="List of open invitations"
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
        opened={ending !== undefined}
        title={`End the invitation as ${ending?.role}`}
        action="End invitation"
        pending={end.isPending}
        error={end.error && <ErrorPanel what="The invitation was not ended" error={end.error} />}
        onConfirm={() => ending && end.mutate(ending)}
        onClose={() => setEnding(undefined)}
      >
        Its link stops working at once. Whoever has it cannot join with it any more.
      </ConfirmDialog>
    </Section>
  );
}

function useEnd(onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (row: Invitation) =>
      api.DELETE("/workspace/invitations/{id}", { params: { path: { id: row.id } } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey });
      notifyDone("The invitation has ended.");
      onDone();
    },
  });
}
