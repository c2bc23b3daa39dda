import { useQuery } from "@tanstack/react-query";

import { asApiError } from "../../api/errors";
import { requestBodyQuery } from "../../api/queries";
import { type Replay, replayOf } from "./draft";

/** What a stored request puts into the playground, or why it cannot. */
export interface Replaying {
  pending: boolean;
  start?: Replay;
  problem?: string;
}

/** useReplay loads the stored text of a request; without an id there is nothing to load. */
export function useReplay(id: string | undefined): Replaying {
  const { data, error } = useQuery({ ...requestBodyQuery(id ?? ""), enabled: Boolean(id) });
  if (!id) {
    return { pending: false };
  }
  if (error) {
    return { pending: false, problem: `${id} could not be opened: ${asApiError(error).message}` };
  }
  if (!data) {
    return { pending: true };
  }
  if (!data.request) {
    return {
      pending: false,
      problem: `${id} cannot be sent again: ${data.reason ?? "its text is not stored."}`,
    };
  }
  const start = replayOf(data.request);
  return start ? { pending: false, start } : { pending: false, problem: `${id} is no chat request.` };
}
