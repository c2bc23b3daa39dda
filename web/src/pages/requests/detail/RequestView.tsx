import { useQuery } from "@tanstack/react-query";

import { requestQuery } from "../../../api/queries";
import { ErrorPanel } from "../../../components/ErrorPanel";
import { RowsSkeleton } from "../../../components/Loading";
import { RequestSections } from "./RequestSections";

/** Loads a request and shows it: summary and trace at once, texts only when they are opened. */
export function RequestView({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(requestQuery(id));
  if (error) {
    return <ErrorPanel what="The request could not be loaded" error={error} onRetry={() => void refetch()} />;
  }
  return data ? <RequestSections request={data} /> : <RowsSkeleton rows={8} height={48} />;
}
