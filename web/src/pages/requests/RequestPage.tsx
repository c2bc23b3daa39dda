import { Anchor, Box } from "@mantine/core";
import { useParams } from "@tanstack/react-router";

import { Icon } from "../../components/Icon";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { RequestView } from "./detail/RequestView";

/** The detail page of a request. */
export function RequestPage() {
  const { id = "" }: { id?: string } = useParams({ strict: false });
  return (
    <Box maw={1040}>
      <Anchor component={PageLink} to="/requests" size="sm">
        <Icon name="chevronLeft" size={12} /> Requests
      </Anchor>
      <PageHeader title="Request" description={id} />
      <RequestView id={id} key={id} />
    </Box>
  );
}
