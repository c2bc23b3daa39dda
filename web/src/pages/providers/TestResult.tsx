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

/** The result of a provider test. */
export function TestResult({ title, result, error, onClose }: Props) {
  if (error) {
    return <ErrorPanel what={`Could not test ${title}`} error={error} />;
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
          {result.ok ? "Test passed" : failed ? "Test failed" : "Not tested"}
          {result.ok && result.latency_ms != null && ` in ${formatDuration(result.latency_ms)}`}
        </>
      }
      withCloseButton
      closeButtonLabel="Close test result"
      onClose={onClose}
    >
      <Group gap="xs" align="flex-start">
        <Text size="sm" flex={1} miw={0} style={{ overflowWrap: "anywhere" }}>
          {testText(result)}
        </Text>
        {failed && <CopyButton text={testText(result)} label="Copy error" />}
      </Group>
      {result.models.length > 0 && (
        <Spoiler maxHeight={48} showLabel="Show all models" hideLabel="Show fewer" mt={4}>
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
