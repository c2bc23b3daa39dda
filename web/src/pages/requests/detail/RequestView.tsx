import { useQuery } from "@tanstack/react-query";

import { asApiError } from "../../../api/errors";
import { requestQuery } from "../../../api/queries";
import { EmptyState } from "../../../components/EmptyState";
import { ErrorPanel } from "../../../components/ErrorPanel";
import { RowsSkeleton } from "../../../components/Loading";
import { RequestSections } from "./RequestSections";

/** Loads and shows a request. Messages are loaded only when opened. */
export function RequestView({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(requestQuery(id));
  if (error && asApiError(error).status === 404) {
    return (
      <EmptyState title="Request not found">
        It may have been deleted, or belong to another workspace.
      </EmptyState>
    );
  }
  if (error) {
    return <ErrorPanel what="Could not load the request" error={error} onRetry={() => void refetch()} />;
  }
  return data ? <RequestSections request={data} /> : <RowsSkeleton rows={8} height={48} />;
}
