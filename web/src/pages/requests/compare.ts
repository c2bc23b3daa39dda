import type { Schema } from "../../api/client";
import { formatCount } from "../../lib/numbers";
import { answerMessages, requestMessages } from "./detail/conversation";
import { textOf, threadOf } from "./detail/thread";

/** Adds a request to the selection or removes it. Two requests can be compared, so a third one replaces the oldest. */
export function togglePick(picked: string[], id: string): string[] {
  return picked.includes(id) ? picked.filter((other) => other !== id) : [...picked, id].slice(-2);
}

/** The two requests in the parameters of the comparison page. */
export function comparedIds(search: Record<string, string | undefined>): [string, string] | undefined {
  const [a, b] = [search["a"], search["b"]];
  return a && b ? [a, b] : undefined;
}

/** The last prompt of a conversation and the response, as text. */
export function lastTurn(body: Schema["RequestBody"]): { prompt: string; response: string } {
  const prompts = requestMessages(body.chat_request ?? body.request) ?? [];
  const answers = answerMessages(body.chat_response ?? body.response, !body.chat_response && body.streamed);
  const { last } = threadOf(prompts, []);
  return {
    prompt: last[0] ? textOf(last[0]) : "",
    response: answers ? answers.map(textOf).join("\n\n") : (body.response ?? ""),
  };
}

type ShadowRecord = Schema["ComparisonRecord"];

/** The time range in which the shadow call of a request is listed. */
export function shadowWindow(at: string): { from: string; to: string } {
  const ms = Date.parse(at);
  return { from: new Date(ms - 1000).toISOString(), to: new Date(ms + 1000).toISOString() };
}

/** The shadow call of a request and its text; undefined if there is none or its text is not stored. */
export function shadowRecord(
  records: ShadowRecord[],
  id: string,
): { record: ShadowRecord; text: string } | undefined {
  const record = records.find((other) => other.request_id === id);
  if (!record?.response) {
    return undefined;
  }
  const answers = answerMessages(JSON.stringify(record.response), false);
  return answers && { record, text: answers.map(textOf).join("\n\n") };
}

/** The change from one value to another in percent: "+40 %"; undefined if a value is unknown or zero. */
export function changeText(from: number | null, to: number | null): string | undefined {
  if (from === null || to === null || from === 0) {
    return undefined;
  }
  const percent = Math.round((100 * (to - from)) / from);
  return percent === 0 ? "same" : `${percent > 0 ? "+" : "−"}${formatCount(Math.abs(percent))}\u00a0%`;
}
