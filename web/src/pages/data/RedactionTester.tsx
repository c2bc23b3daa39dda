import { List, Paper, Stack, Text, Textarea } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { Redacted } from "../../components/Redacted";
import { countsText } from "./redaction";

const debounceMs = 400;
const maxLength = 20_000;

/** Shows how text would be stored with the rules of the form, which may be unsaved. */
export function RedactionTester({ rules }: { rules: Schema["RedactionView"] }) {
  const [text, setText] = useState("");
  const [input] = useDebouncedValue(JSON.stringify({ text, rules }), debounceMs);
  const body = JSON.parse(input) as Schema["TestRedactionInputBody"];
  const result = useQuery({
    queryKey: ["redaction", input],
    queryFn: () => must(api.POST("/workspace/redaction/test", { body })),
    enabled: body.text !== "",
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 0, // test input is not cached
  });
  return (
    <Stack gap="xs">
      <Textarea
        label="Test the rules"
        description="Paste text to see how it would be stored with the rules above, including unsaved changes. The text is not stored."
        rows={4}
        resize="vertical"
        maxLength={maxLength}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {text !== "" && (
        <Paper withBorder p="sm" aria-label="Stored text" role="region" aria-live="polite">
          {result.error ? (
            <Problems error={result.error} />
          ) : (
            <>
              <Text size="sm" component="div" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
                <Redacted text={result.data?.text ?? ""} />
              </Text>
              <Text size="xs" c="dimmed" mt="xs">
                {result.data ? countsText(result.data.counts) : "Testing…"}
              </Text>
            </>
          )}
        </Paper>
      )}
    </Stack>
  );
}

function Problems({ error }: { error: unknown }) {
  const apiError = asApiError(error);
  const problems = Object.values(apiError.problems);
  return (
    <List size="sm">
      {(problems.length > 0 ? problems : [apiError.message]).map((problem) => (
        <List.Item key={problem}>{problem}</List.Item>
      ))}
    </List>
  );
}
