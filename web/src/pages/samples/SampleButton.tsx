import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";

import { createSamples, useSampleRun } from "../../api/samples";
import { useSession } from "../../lib/session";
import { Icon } from "../../components/Icon";

/** Creates sample traffic. Shown only if the simulator is active and the user has permission. */
export function SampleButton() {
  const { server, may } = useSession();
  const queryClient = useQueryClient();
  const run = useSampleRun();
  if (!server.samples || !may("manage_workspace")) {
    return null;
  }
  return (
    <Button
      variant="default"
      leftSection={<Icon name="activity" size={14} />}
      loading={run !== undefined}
      onClick={() => void createSamples(queryClient)}
    >
      Create sample traffic
    </Button>
  );
}
