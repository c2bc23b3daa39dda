import { Group } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import { rateRequest } from "../../api/routing";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Thumbs } from "../requests/detail/Rating";
import type { Run } from "./run";

/** Rates a finished response. The request page shows the rating and its comment. */
export function RateRun({ run }: { run: Run }) {
  const id = run.facts.requestId;
  const rate = useMutation({
    mutationFn: (score: number) => rateRequest(id ?? "", { score }),
  });
  const answered = run.text !== "" || run.calls.length > 0;
  if (!id?.startsWith("req_") || run.totalMs === undefined || !answered || run.state === "failed") {
    return null;
  }
  return (
    <Group gap={6} role="group" aria-label="Rating">
      <Thumbs
        score={rate.isSuccess ? rate.variables : undefined}
        pending={rate.isPending}
        onRate={rate.mutate}
        short
      />
      {rate.error && <ErrorPanel what="Could not save the rating" error={rate.error} />}
    </Group>
  );
}
