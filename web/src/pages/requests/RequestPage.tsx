import { Anchor, Box } from "@mantine/core";
import { useParams } from "@tanstack/react-router";

import { CopyButton } from "../../components/CopyButton";
import { Icon } from "../../components/Icon";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { RequestView } from "./detail/RequestView";

/** The detail page of a request. */
export function RequestPage() {
  const { id = "" }: { id?: string } = useParams({ strict: false });
  return (
    <Box maw={1000}>
      <Anchor component={PageLink} to="/requests" size="sm">
        <Icon name="chevronLeft" size={12} /> Requests
      </Anchor>
      <PageHeader
        title="Request"
        compact
        description={
          <>
            <code>{id}</code> <CopyButton text={id} label="Copy ID" compact />
          </>
        }
      />
      <RequestView id={id} key={id} />
    </Box>
  );
}
