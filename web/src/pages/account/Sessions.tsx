import { Badge, Button, Group, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, must, type Schema } from "../../api/client";
import { sessionsQuery } from "../../api/manage";
import { type Column, DataTable } from "../../components/DataTable";
import { ErrorPanel } from "../../components/ErrorPanel";
import { RowsSkeleton } from "../../components/Loading";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { notifyDone } from "../../lib/notify";
import { plural } from "../../lib/numbers";
import { clientName } from "./labels";

type BrowserSession = Schema["BrowserSession"];

/** The sessions of the account, with buttons to end them. */
export function Sessions() {
  const { data, error, refetch } = useQuery(sessionsQuery);
  const end = useEnd();
  const others = (data?.sessions ?? []).filter((s) => !s.current);
  const button = (s: BrowserSession) =>
    s.current ? (
      <Badge color="green" radius="sm">
        This browser
      </Badge>
    ) : (
      <Button
        size="compact-xs"
        variant="default"
        loading={end.isPending && end.variables === s}
        onClick={() => end.mutate(s)}
        aria-label={`Sign out ${clientName(s.client)} from ${s.ip}`}
      >
        Sign out
      </Button>
    );
  const columns: Column<BrowserSession>[] = [
    {
      id: "client",
      label: "Browser",
      render: (s) => <span title={s.client}>{clientName(s.client)}</span>,
      maxWidth: 260,
    },
    { id: "ip", label: "IP address", render: (s) => s.ip },
    { id: "seen", label: "Last seen", render: (s) => <Time at={s.seen_at} as="age" /> },
    { id: "since", label: "Signed in", render: (s) => <Time at={s.created_at} as="day" /> },
    { id: "expires", label: "Expires", render: (s) => <Time at={s.expires_at} as="age" /> },
    { id: "end", label: "Actions", render: button },
  ];
  return (
    <Section
      title="Sessions"
      actions={
        others.length > 0 && (
          <Button
            size="xs"
            variant="default"
            loading={end.isPending && end.variables === "others"}
            onClick={() => end.mutate("others")}
          >
            Sign out other sessions
          </Button>
        )
      }
    >
      {error && <ErrorPanel what="Could not load sessions" error={error} onRetry={() => void refetch()} />}
      {end.error && <ErrorPanel what="Could not sign out" error={end.error} />}
      {!data && !error && <RowsSkeleton rows={2} />}
      {data && (
        <DataTable
          label="Session list"
          rows={data.sessions}
          columns={columns}
          rowKey={(s) => s.id}
          phone={(s) => ({
            top: (
              <>
                <Text span inherit fw={600} truncate>
                  {clientName(s.client)}
                </Text>
                {button(s)}
              </>
            ),
            bottom: (
              <Group gap="xs" c="dimmed">
                <span>{s.ip}</span>
                <Time at={s.seen_at} as="age" />
              </Group>
            ),
          })}
        />
      )}
    </Section>
  );
}

function useEnd() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async (session: BrowserSession | "others") => {
      if (session === "others") {
        return (await must(api.DELETE("/account/sessions"))).ended;
      }
      await api.DELETE("/account/sessions/{id}", { params: { path: { id: session.id } } });
      return 1;
    },
    onSuccess: (ended) => notifyDone(`Signed out ${plural(ended, "session")}.`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
}
