import { Alert, Button, Text } from "@mantine/core";
import { useEffect, useState } from "react";

import { isLoadError, reloadOnce } from "../lib/newVersion";
import { ErrorPanel } from "./ErrorPanel";
import { Icon } from "./Icon";

interface Props {
  error: unknown;
  onRetry: () => void;
}

/** The error of a page. A page whose files are gone, as after an upgrade, is reloaded once. */
export function PageError({ error, onRetry }: Props) {
  return isLoadError(error) ? (
    <LoadFailure />
  ) : (
    <ErrorPanel what="This page could not be shown" error={error} onRetry={onRetry} />
  );
}

function LoadFailure() {
  const [waiting, setWaiting] = useState(true);
  useEffect(() => {
    void reloadOnce().then(setWaiting);
  }, []);
  if (waiting) {
    return null;
  }
  return (
    <Alert
      color="red"
      variant="outline"
      icon={<Icon name="alert" size={18} />}
      title="This page could not be loaded"
      role="alert"
    >
      <Text size="sm">
        The gateway may have been upgraded, or it cannot be reached. Reload to get the current version.
      </Text>
      <Button
        mt="sm"
        size="xs"
        variant="default"
        leftSection={<Icon name="refresh" size={14} />}
        onClick={() => location.reload()}
      >
        Reload
      </Button>
    </Alert>
  );
}
