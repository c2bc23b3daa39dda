import { Button } from "@mantine/core";

import { EmptyState } from "../../components/EmptyState";
import { PageLink } from "../../components/PageLink";

/** Shown for an unknown path. */
export function NotFound() {
  return (
    <EmptyState
      title="Page not found"
      actions={
        <Button component={PageLink} to="/" variant="default">
          Go to Overview
        </Button>
      }
    >
      Check the URL. The page may not exist in this version of Fairlead.
    </EmptyState>
  );
}
