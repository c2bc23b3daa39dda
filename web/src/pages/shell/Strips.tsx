import { Alert, Anchor, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { Icon } from "../../components/Icon";
import { setReachable, useReachable } from "../../lib/reachable";
import { useSession } from "../../lib/session";
import { pages } from "../../routes";
import { PageLink } from "../../components/PageLink";

/** The strips for facts that need action: they stay until the fact is gone. */
export function Strips() {
  const { server } = useSession();
  const reachable = useReachable();
  const place =
    pages.find((page) => page.path === "/providers") ?? pages.find((page) => page.path === "/quickstart");
  return (
    <>
      {!reachable && <Unreachable />}
      {server.simulated && (
        <Alert color="grape" variant="outline" py={4} px="sm" mb="md" role="status">
          <Text size="xs">
            <strong>SIMULATED</strong>: answers and costs are made up until a provider’s key is set, such as
            OPENAI_API_KEY.{" "}
            {place && (
              <Anchor component={PageLink} to={place.path} inherit>
                {place.title}
              </Anchor>
            )}
          </Text>
        </Alert>
      )}
    </>
  );
}

/** Asks every three seconds whether the gateway is back; then everything on the page is loaded again. */
function Unreachable() {
  const queryClient = useQueryClient();
  useQuery({
    queryKey: ["reachable"],
    queryFn: async () => {
      const answer = await fetch("/health", { cache: "no-store" });
      if (answer.ok) {
        setReachable(true);
        void queryClient.invalidateQueries();
      }
      return answer.ok;
    },
    refetchInterval: 3000,
    retry: false,
    networkMode: "always",
    gcTime: 0,
  });
  return (
    <Alert color="red" variant="outline" py={6} mb="md" role="status" icon={<Icon name="alert" />}>
      The gateway cannot be reached. This page tries again by itself.
    </Alert>
  );
}
