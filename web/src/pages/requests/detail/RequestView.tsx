import { useQuery } from "@tanstack/react-query";

import { requestQuery } from "../../../api/queries";
import { ErrorPanel } from "../../../components/ErrorPanel";
import { RowsSkeleton } from "../../../components/Loading";
import { RequestSections } from "./RequestSections";

/** Loads and shows a request. Messages are loaded only when opened. */
export function RequestView({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(requestQuery(id));
  if (error) {
    return <ErrorPanel what="Could not load the request" error={error} onRetry={() => void refetch()} />;
  }
  return data ? <RequestSections request={data} /> : <RowsSkeleton rows={8} height={48} />;
}
