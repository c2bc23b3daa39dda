import { SegmentedControl, Stack } from "@mantine/core";
import { useState } from "react";

import type { Schema } from "../../../api/client";
import { CodeBlock } from "../../../components/CodeBlock";
import { StoredBody } from "./Conversation";
import { pretty } from "./conversation";

const parts = [
  { value: "request", label: "Request" },
  { value: "response", label: "Response" },
  { value: "entry", label: "Log entry" },
];

/** The bodies and the log entry of a request as JSON. */
export function Raw({ request }: { request: Schema["RequestDetail"] }) {
  const [part, setPart] = useState("request");
  return (
    <Stack gap="sm" align="stretch">
      <SegmentedControl
        size="xs"
        aria-label="Part"
        data={parts}
        value={part}
        onChange={setPart}
        style={{ alignSelf: "flex-start" }}
      />
      {part === "entry" ? (
        <CodeBlock text={JSON.stringify(request, null, 2)} maxHeight={640} />
      ) : (
        <StoredBody id={request.id}>
          {(body) => (
            <CodeBlock
              text={pretty((part === "request" ? body.request : body.response) ?? "")}
              maxHeight={640}
            />
          )}
        </StoredBody>
      )}
    </Stack>
  );
}
