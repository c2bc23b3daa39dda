import { List, Paper, Stack, Text, Textarea } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { Redacted } from "../../components/Redacted";
import { countsText } from "./redaction";

const pause = 400;
const longest = 20_000;

/** Shows a text as it would be stored under rules, also under ones that are not saved yet. */
export function RedactionTester({ rules }: { rules: Schema["RedactionView"] }) {
  const [text, setText] = useState("");
  const [asked] = useDebouncedValue(JSON.stringify({ text, rules }), pause);
  const body = JSON.parse(asked) as Schema["TestRedactionInputBody"];
  const result = useQuery({
    queryKey: ["redaction", asked],
    queryFn: () => must(api.POST("/workspace/redaction/test", { body })),
    enabled: body.text !== "",
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 0, // what was tried is not kept
  });
  return (
    <Stack gap="xs">
      <Textarea
        label="Try the rules"
        description="Paste a text to see it as it would be stored, with the rules above, saved or not. It is not kept."
        rows={4}
        resize="vertical"
        maxLength={longest}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {text !== "" && (
        <Paper withBorder p="sm" aria-label="As it would be stored" role="region" aria-live="polite">
          {result.error ? (
            <Problems error={result.error} />
          ) : (
            <>
              <Text size="sm" component="div" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
                <Redacted text={result.data?.text ?? ""} />
              </Text>
              <Text size="xs" c="dimmed" mt="xs">
                {result.data ? countsText(result.data.counts) : "Trying…"}
              </Text>
            </>
          )}
        </Paper>
      )}
    </Stack>
  );
}

function Problems({ error }: { error: unknown }) {
  const told = asApiError(error);
  const problems = Object.values(told.problems);
  return (
    <List size="sm">
      {(problems.length > 0 ? problems : [told.message]).map((problem) => (
        <List.Item key={problem}>{problem}</List.Item>
      ))}
    </List>
  );
}
