import { Alert, Button, Group, Text } from "@mantine/core";

import { asApiError } from "../api/errors";
import { CopyButton } from "./CopyButton";
import { Icon } from "./Icon";

interface Props {
  /** What failed: "Could not load requests". */
  what: string;
  error: unknown;
  onRetry?: () => void;
}

/** Shows what failed, with the request ID, and offers a retry. */
export function ErrorPanel({ what, error, onRetry }: Props) {
  const e = asApiError(error);
  const details = [
    what,
    e.message,
    `code ${e.code}`,
    e.requestId && `request ${e.requestId}`,
    location.href,
    new Date().toISOString(),
  ];
  return (
    <Alert color="red" variant="outline" icon={<Icon name="alert" size={18} />} title={what} role="alert">
      <Text size="sm">{e.message}</Text>
      <Text size="xs" c="dimmed" mt={4}>
        {e.code}
        {e.requestId && ` · ${e.requestId}`}
      </Text>
      <Group mt="sm" gap="xs">
        {onRetry && (
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon name="refresh" size={14} />}
            onClick={onRetry}
          >
            Retry
          </Button>
        )}
        <CopyButton label="Copy details" text={details.filter(Boolean).join("\n")} />
      </Group>
    </Alert>
  );
}
