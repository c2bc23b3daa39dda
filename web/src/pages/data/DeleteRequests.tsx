import { Alert, Anchor, Button, Group, Select, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must } from "../../api/client";
import { facetsQuery } from "../../api/queries";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { FilterBar } from "../../components/FilterBar";
import { Icon } from "../../components/Icon";
import { PageLink } from "../../components/PageLink";
import type { Filters } from "../../lib/filters";
import { notifyDone } from "../../lib/notify";
import { formatCount, plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { selection, spans } from "./retention";

/** Deletes requests by filter, after counting them. */
export function DeleteRequests() {
  const { workspace } = useSession();
  const [span, setSpan] = useState("older-30d");
  const [filters, setFilters] = useState<Filters>({});
  const [asking, setAsking] = useState(false);
  const facets = useQuery(facetsQuery({ from: "now-30d" }));
  const count = useErase(true);
  const erase = useErase(false);
  const chosen = selection(span, filters);
  const everything = Object.keys(chosen).length === 0;
  const change = (next: () => void) => {
    next();
    count.reset();
  };
  const n = count.data?.count ?? 0;
  return (
    <Stack gap="sm">
      <FilterBar
        filters={filters}
        facets={facets.data}
        names={["outcome", "decision", "model", "provider", "key"]}
        onChange={(next) => change(() => setFilters({ ...filters, ...next }))}
        onClear={() => change(() => setFilters({}))}
        before={
          <Select
            size="xs"
            w={180}
            aria-label="Time range"
            data={spans.map(({ value, label }) => ({ value, label }))}
            allowDeselect={false}
            value={span}
            onChange={(value) => value && change(() => setSpan(value))}
          />
        }
      />
      <Group gap="sm">
        <Button variant="default" loading={count.isPending} onClick={() => count.mutate(chosen)}>
          Count requests
        </Button>
        {count.data && (
          <>
            <Text size="sm" aria-live="polite">
              {n === 0 ? "No matching requests." : <strong>{plural(n, "matching request")}</strong>}
            </Text>
            {n > 0 && (
              <>
                <Anchor component={PageLink} to="/requests" search={chosen} size="sm">
                  View requests
                </Anchor>
                <Button
                  color="red"
                  variant="outline"
                  leftSection={<Icon name="trash" size={14} />}
                  onClick={() => setAsking(true)}
                >
                  Delete {formatCount(n)}
                </Button>
              </>
            )}
          </>
        )}
      </Group>
      {count.error && <ErrorPanel what="Could not count requests" error={count.error} />}
      {everything && (
        <Alert color="yellow" variant="outline" py={6} icon={<Icon name="alert" size={16} />}>
          No filter is set: this matches every request in “{workspace.name}”.
        </Alert>
      )}
      <ConfirmDialog
        opened={asking}
        title={`Delete ${plural(n, "request")} from “${workspace.name}”`}
        action="Delete permanently"
        typed={everything ? workspace.name : n > 100 ? String(n) : undefined}
        pending={erase.isPending}
        error={erase.error && <ErrorPanel what="Could not delete all requests" error={erase.error} />}
        onConfirm={() =>
          erase.mutate(chosen, {
            onSuccess: () => {
              setAsking(false);
              count.reset();
            },
          })
        }
        onClose={() => setAsking(false)}
      >
        Permanently deletes the requests with their prompts and responses, including matching requests that
        arrive in the meantime. Links to them stop working. Budgets, totals and charts don’t change. The
        deletion is recorded in the audit log.
      </ConfirmDialog>
    </Stack>
  );
}

/** Counts or deletes the selected requests. */
function useErase(dryRun: boolean) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (chosen: Record<string, string>) =>
      must(
        api.DELETE("/requests", {
          params: {
            query: { ...chosen, dry_run: dryRun, all: Object.keys(chosen).length === 0 || undefined },
          },
        }),
      ),
    onSuccess: async (erased) => {
      if (!dryRun) {
        notifyDone(`Deleted ${plural(erased.count, "request")}.`);
        await queryClient.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "session" });
      }
    },
  });
}
