import { Button, Group, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";

import { api, must } from "../../api/client";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { notifyDone } from "../../lib/notify";
import { plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";
import { sampleKeys } from "./sampleKeys";

// Loaded lazily because it is rarely needed: most workspaces have either samples or real requests.
const ConfirmDialog = lazy(() =>
  import("../../components/ConfirmDialog").then((module) => ({ default: module.ConfirmDialog })),
);

/**
 * Removes sample traffic with its figures, in one click. Figures of all simulated requests are removed together, so it
 * asks first if some of them are not samples.
 */
export function RemoveSamples({ brief }: { brief?: boolean }) {
  const { workspace, may } = useSession();
  const allowed = may("delete_requests");
  const [asking, setAsking] = useState(false);
  const all = useQuery({ ...countQuery({}), enabled: allowed });
  const samples = useQuery({ ...countQuery({ key: sampleKeys.join(",") }), enabled: allowed });
  const erase = useErase();
  const n = all.data?.count ?? 0;
  const error = all.error ?? samples.error ?? (asking ? undefined : erase.error);
  if (!allowed) {
    return null;
  }
  if (error) {
    const retry = () => void Promise.all([all.refetch(), samples.refetch()]);
    return <ErrorPanel what="Could not remove sample data" error={error} onRetry={retry} />;
  }
  if (n === 0 || !samples.data) {
    return brief ? null : (
      <Text size="sm" c="dimmed">
        {all.data && samples.data ? "No simulated requests." : "Counting…"}
      </Text>
    );
  }
  const others = n - samples.data.count;
  return (
    <Group gap="sm">
      <Button
        color="red"
        variant="outline"
        size={brief ? "compact-xs" : undefined}
        leftSection={<Icon name="trash" size={brief ? 12 : 14} />}
        loading={erase.isPending && !asking}
        onClick={() => (others > 0 ? setAsking(true) : erase.mutate())}
      >
        Remove sample data
      </Button>
      {!brief && (
        <Text size="sm" c="dimmed">
          {plural(n, "simulated request")}
        </Text>
      )}
      {asking && (
        <Suspense>
          <ConfirmDialog
            opened={asking}
            title={`Remove ${plural(n, "simulated request")} from “${workspace.name}”`}
            action="Remove"
            pending={erase.isPending}
            error={erase.error && <ErrorPanel what="Could not remove all sample data" error={erase.error} />}
            onConfirm={() => erase.mutate(undefined, { onSuccess: () => setAsking(false) })}
            onClose={() => setAsking(false)}
          >
            Deletes all simulated requests, including {plural(others, "request")} that you sent to the
            simulator, and removes them from totals and charts. Requests to real providers stay. Budgets don’t
            change.
          </ConfirmDialog>
        </Suspense>
      )}
    </Group>
  );
}

/** Counts simulated requests. */
function countQuery(more: { key?: string }) {
  return {
    queryKey: ["erase", "simulated", more],
    queryFn: () =>
      must(api.DELETE("/requests", { params: { query: { ...more, simulated: "true", dry_run: true } } })),
  };
}

function useErase() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: () =>
      must(api.DELETE("/requests", { params: { query: { simulated: "true", dry_run: false } } })),
    onSuccess: async (erased) => {
      notifyDone(`Deleted ${plural(erased.count, "request")}.`);
      await queryClient.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "session" });
    },
  });
}
