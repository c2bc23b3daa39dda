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
import { SampleButton } from "../samples/SampleButton";
import type { Filters } from "../../lib/filters";
import { notifyDone } from "../../lib/notify";
import { formatCount, plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { selection, spans } from "./retention";

/** Deletes requests by filter. They are counted first, and only what was counted can be deleted. */
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
            aria-label="Time"
            data={spans.map(({ value, label }) => ({ value, label }))}
            allowDeselect={false}
            value={span}
            onChange={(value) => value && change(() => setSpan(value))}
          />
        }
      />
      <Group gap="sm">
        <Button variant="default" loading={count.isPending} onClick={() => count.mutate(chosen)}>
          Count
        </Button>
        {count.data && (
          <>
            <Text size="sm" aria-live="polite">
              {n === 0 ? "No request matches." : <strong>{plural(n, "request")}</strong>}{" "}
              {n > 0 && "with their texts."}
            </Text>
            {n > 0 && (
              <>
                <Anchor component={PageLink} to="/requests" search={chosen} size="sm">
                  See them
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
      {count.error && <ErrorPanel what="The requests could not be counted" error={count.error} />}
      {everything && (
        <Alert color="yellow" variant="outline" py={6} icon={<Icon name="alert" size={16} />}>
          Nothing limits this: it means every request of “{workspace.name}”.
        </Alert>
      )}
      <ConfirmDialog
        opened={asking}
        title={`Delete ${plural(n, "request")} of “${workspace.name}”`}
        action="Delete for good"
        typed={everything ? workspace.name : n > 100 ? String(n) : undefined}
        pending={erase.isPending}
        error={erase.error && <ErrorPanel what="Not everything was deleted" error={erase.error} />}
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
        The requests and their texts are gone for good; links to them stop working. Requests that match and
        arrive until then go as well. What was spent stays spent: budgets, totals and charts keep their sums.
        The audit log says who did it.
      </ConfirmDialog>
    </Stack>
  );
}

/** Makes something to look at, and removes everything that the simulator made up. */
export function SampleData() {
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <SampleButton />
      </Group>
      <DeleteSimulated />
    </Stack>
  );
}

function DeleteSimulated() {
  const { workspace } = useSession();
  const [asking, setAsking] = useState(false);
  const count = useQuery({
    queryKey: ["erase", "simulated"],
    queryFn: () => must(api.DELETE("/requests", { params: { query: { simulated: "true", dry_run: true } } })),
  });
  const erase = useErase(false);
  const n = count.data?.count ?? 0;
  if (count.error) {
    return (
      <ErrorPanel
        what="The simulated requests could not be counted"
        error={count.error}
        onRetry={() => void count.refetch()}
      />
    );
  }
  if (n === 0) {
    return (
      <Text size="sm" c="dimmed">
        {count.data ? "There is none to remove: the simulator has answered no request here." : "Counting…"}
      </Text>
    );
  }
  return (
    <Group gap="sm">
      <Button
        color="red"
        variant="outline"
        leftSection={<Icon name="trash" size={14} />}
        onClick={() => setAsking(true)}
      >
        Remove sample data
      </Button>
      <Text size="sm" c="dimmed">
        {plural(n, "request")} that the simulator answered.
      </Text>
      <ConfirmDialog
        opened={asking}
        title={`Remove ${plural(n, "simulated request")} of “${workspace.name}”`}
        action="Remove"
        pending={erase.isPending}
        error={erase.error && <ErrorPanel what="Not everything was removed" error={erase.error} />}
        onConfirm={() => erase.mutate({ simulated: "true" }, { onSuccess: () => setAsking(false) })}
        onClose={() => setAsking(false)}
      >
        Everything that the simulator answered is deleted, sample traffic included, with its share in totals
        and charts; requests to real providers stay. What it spent of budgets stays spent; sample traffic
        spends nothing.
      </ConfirmDialog>
    </Group>
  );
}

/** Counts or deletes what a selection matches. */
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
        notifyDone(`${plural(erased.count, "request")} deleted.`);
        await queryClient.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "session" });
      }
    },
  });
}
