import { Button } from "@mantine/core";

import { EmptyState } from "../../components/EmptyState";
import { PageLink } from "../../components/PageLink";

/** Stands for an address that leads nowhere. */
export function NotFound() {
  return (
    <EmptyState
      title="There is no such page"
      actions={
        <Button component={PageLink} to="/" variant="default">
          Go to the start
        </Button>
      }
    >
      The address may be mistyped, or the page may belong to another version of Fairlead.
    </EmptyState>
  );
}
