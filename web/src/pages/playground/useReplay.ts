import { useQuery } from "@tanstack/react-query";

import { asApiError } from "../../api/errors";
import { requestBodyQuery } from "../../api/queries";
import { type Replay, replayOf } from "./draft";

/** A stored request, or the reason why it cannot be opened. */
export interface ReplayState {
  pending: boolean;
  start?: Replay;
  problem?: string;
}

/** useReplay loads a stored request into the playground; without an id it does nothing. */
export function useReplay(id: string | undefined): ReplayState {
  const { data, error } = useQuery({ ...requestBodyQuery(id ?? ""), enabled: Boolean(id) });
  if (!id) {
    return { pending: false };
  }
  if (error) {
    return { pending: false, problem: `Could not open ${id}: ${asApiError(error).message}` };
  }
  if (!data) {
    return { pending: true };
  }
  if (!data.request) {
    return {
      pending: false,
      problem: `Could not open ${id}: ${data.reason ?? "The prompt is not stored."}`,
    };
  }
  const start = replayOf(data.request);
  return start ? { pending: false, start } : { pending: false, problem: `${id} is not a chat request.` };
}
