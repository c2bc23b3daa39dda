import { Alert, Button, Text } from "@mantine/core";
import { useEffect, useState } from "react";

import { isLoadError, reloadOnce } from "../lib/newVersion";
import { ErrorPanel } from "./ErrorPanel";
import { Icon } from "./Icon";

interface Props {
  error: unknown;
  onRetry: () => void;
}

/** Shows the error of a page. If files are missing, as after an upgrade, the page is reloaded once. */
export function PageError({ error, onRetry }: Props) {
  return isLoadError(error) ? (
    <LoadFailure />
  ) : (
    <ErrorPanel what="Could not show this page" error={error} onRetry={onRetry} />
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
      title="Could not load this page"
      role="alert"
    >
      <Text size="sm">
        The gateway may have been upgraded or is unreachable. Reload to get the current version.
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
