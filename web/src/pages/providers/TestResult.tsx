import { Alert, Code, Group, Spoiler, Text } from "@mantine/core";

import type { Schema } from "../../api/client";
import { CopyButton } from "../../components/CopyButton";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { formatDuration } from "../../lib/numbers";
import { testText } from "./providers";

interface Props {
  title: string;
  result?: Schema["ProviderTest"];
  error: unknown;
  onClose: () => void;
}

/** What a test call found, beside the button that made it. */
export function TestResult({ title, result, error, onClose }: Props) {
  if (error) {
    return <ErrorPanel what={`${title} could not be tested`} error={error} />;
  }
  if (!result) {
    return null;
  }
  const failed = result.tested && !result.ok;
  return (
    <Alert
      color={result.ok ? "green" : failed ? "red" : "yellow"}
      variant="outline"
      role="status"
      icon={<Icon name={result.ok ? "check" : "alert"} size={18} />}
      title={
        <>
          {result.ok ? "The test passed" : failed ? "The test failed" : "Not tested"}
          {result.ok && result.latency_ms != null && ` in ${formatDuration(result.latency_ms)}`}
        </>
      }
      withCloseButton
      closeButtonLabel="Close the result of the test"
      onClose={onClose}
    >
      <Group gap="xs" align="flex-start">
        <Text size="sm" flex={1} miw={0} style={{ overflowWrap: "anywhere" }}>
          {testText(result)}
        </Text>
        {failed && <CopyButton text={testText(result)} label="Copy error" />}
      </Group>
      {result.models.length > 0 && (
        <Spoiler maxHeight={48} showLabel="All models" hideLabel="Fewer" mt={4}>
          <Group gap={4}>
            {result.models.map((model) => (
              <Code key={model}>{model}</Code>
            ))}
          </Group>
        </Spoiler>
      )}
    </Alert>
  );
}
