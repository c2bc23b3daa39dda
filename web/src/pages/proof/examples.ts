import { queryOptions } from "@tanstack/react-query";

import { api, must } from "../../api/client";
import type { Schema } from "../../api/client";
import { answerMessages } from "../requests/detail/conversation";

/** The text of both responses in a comparison; null if the text is not stored. */
export interface ExampleTexts {
  routed: string | null;
  baseline: string | null;
  reason: string;
}

/** Both responses of a compared request: the served one from the request log, the other one from the comparison. */
export function exampleQuery(id: string) {
  return queryOptions({
    queryKey: ["comparison-example", id],
    queryFn: async (): Promise<ExampleTexts> => {
      const [body, list] = await Promise.all([
        must(api.GET("/requests/{id}/body", { params: { path: { id } } })),
        must(api.GET("/workspace/comparison/records", { params: { query: { request_id: id } } })),
      ]);
      return exampleTexts(body, list.records?.[0]);
    },
  });
}

/** Assigns the responses to their models: in a holdout, the baseline served the client. */
export function exampleTexts(
  body: Schema["RequestBody"],
  record: Schema["ComparisonRecord"] | undefined,
): ExampleTexts {
  const served =
    body.state === "stored"
      ? responseText(body.chat_response ?? body.response, !body.chat_response && body.streamed)
      : null;
  const shadow = record?.response ? responseText(JSON.stringify(record.response), false) : null;
  const reason = record?.reason ?? "";
  return record?.holdout
    ? { routed: shadow, baseline: served, reason }
    : { routed: served, baseline: shadow, reason };
}

/** The text and the tool calls of a response; null for one that cannot be read. */
function responseText(text: string | null, streamed: boolean): string | null {
  const parts = answerMessages(text, streamed)?.flatMap((message) => message.parts);
  if (!parts || parts.length === 0) {
    return null;
  }
  return parts
    .map((part) =>
      part.kind === "text"
        ? part.text
        : part.kind === "call"
          ? `${part.name}(${part.args})`
          : `[${part.label}]`,
    )
    .join("\n");
}
