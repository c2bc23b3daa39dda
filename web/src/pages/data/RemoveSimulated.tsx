import { Button, Group, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must } from "../../api/client";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { notifyDone } from "../../lib/notify";
import { plural } from "../../lib/numbers";
import { useSession } from "../../lib/session";

/** Deletes simulated requests with their figures. */
export function RemoveSimulated() {
  const { workspace } = useSession();
  const [asking, setAsking] = useState(false);
  const count = useQuery({
    queryKey: ["erase", "simulated"],
    queryFn: () => must(api.DELETE("/requests", { params: { query: { simulated: "true", dry_run: true } } })),
  });
  const queryClient = useQueryClient();
  const erase = useMutation({
    mutationFn: () =>
      must(api.DELETE("/requests", { params: { query: { simulated: "true", dry_run: false } } })),
    onSuccess: async (erased) => {
      setAsking(false);
      notifyDone(`Deleted ${plural(erased.count, "request")}.`);
      await queryClient.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "session" });
    },
  });
  if (count.error) {
    return (
      <ErrorPanel
        what="Could not count simulated requests"
        error={count.error}
        onRetry={() => void count.refetch()}
      />
    );
  }
  const n = count.data?.count ?? 0;
  if (n === 0) {
    return (
      <Text size="sm" c="dimmed">
        {count.data ? "No simulated requests." : "Counting…"}
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
        Remove simulated requests
      </Button>
      <Text size="sm" c="dimmed">
        {plural(n, "simulated request")}
      </Text>
      <ConfirmDialog
        opened={asking}
        title={`Remove ${plural(n, "simulated request")} from “${workspace.name}”`}
        action="Remove"
        pending={erase.isPending}
        error={
          erase.error && <ErrorPanel what="Could not remove all simulated requests" error={erase.error} />
        }
        onConfirm={() => erase.mutate()}
        onClose={() => setAsking(false)}
      >
        Deletes all simulated requests and removes them from totals and charts. Requests to real providers
        stay. Budgets don’t change.
      </ConfirmDialog>
    </Group>
  );
}
