import { Alert, Anchor, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { useLiveState } from "../../api/live";
import { attentionQuery, sessionQuery } from "../../api/queries";
import { Icon } from "../../components/Icon";
import { isNewVersion } from "../../lib/newVersion";
import { setReachable, useReachable } from "../../lib/reachable";
import { useSession } from "../../lib/session";
import { pages } from "../../routes";
import { PageLink } from "../../components/PageLink";
import { kindTitles, linkOf } from "../overview/attention";

/** Banners for conditions that need action. They stay until the condition ends. */
export function Banners() {
  const { server, may } = useSession();
  const reachable = useReachable();
  useVersionCheck();
  const page =
    pages.find(({ path }) => path === "/providers") ?? pages.find(({ path }) => path === "/quickstart");
  return (
    <>
      {!reachable && <Unreachable />}
      {isNewVersion(server.version) && <NewVersion />}
      {server.simulated && (
        <Alert color="grape" variant="outline" py={4} px="sm" mb="md" role="status">
          <Text size="xs">
            <strong>SIMULATED</strong>: You’re using the simulator.{" "}
            {page && (
              <Anchor component={PageLink} to={page.path} inherit>
                Connect a provider
              </Anchor>
            )}{" "}
            to get real responses.
          </Text>
        </Alert>
      )}
      {may("read_figures") && <GatewayBanners />}
    </>
  );
}

/** Reloads the gateway's version after the push connection was lost, because the gateway may have been upgraded. */
function useVersionCheck(): void {
  const queryClient = useQueryClient();
  const state = useLiveState();
  const lost = useRef(false);
  useEffect(() => {
    if (state === "live" && lost.current) {
      void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
    }
    lost.current = state === "reconnecting" || (lost.current && state !== "live");
  }, [state, queryClient]);
}

/** Offers to reload the page after an upgrade of the gateway. */
function NewVersion() {
  return (
    <Alert color="blue" variant="outline" py={4} px="sm" mb="md" role="status">
      <Text size="xs">
        A new version is available.{" "}
        <Anchor component="button" type="button" inherit onClick={() => location.reload()}>
          Reload
        </Anchor>
      </Text>
    </Alert>
  );
}

const urgentKinds = ["no_provider", "storage_low", "entries_rejected"];

/** Urgent conditions of the whole gateway. */
function GatewayBanners() {
  const { data } = useQuery(attentionQuery);
  const urgent = data?.attention.filter((item) => urgentKinds.includes(item.kind)) ?? [];
  return urgent.map((item) => {
    const link = linkOf(item.kind);
    return (
      <Alert
        key={item.object}
        color={item.severity === "error" ? "red" : "orange"}
        variant="outline"
        py={4}
        px="sm"
        mb="md"
        role="status"
        icon={<Icon name="alert" />}
      >
        <Text size="xs">
          <strong>{kindTitles[item.kind]}</strong>: {item.message}{" "}
          <Anchor component={PageLink} to={link.to} inherit>
            {link.label}
          </Anchor>
        </Text>
      </Alert>
    );
  });
}

/** Polls the gateway every three seconds and reloads all data when it is back. */
function Unreachable() {
  const queryClient = useQueryClient();
  useQuery({
    queryKey: ["reachable"],
    queryFn: async () => {
      const response = await fetch("/health", { cache: "no-store" });
      if (response.ok) {
        setReachable(true);
        void queryClient.invalidateQueries();
      }
      return response.ok;
    },
    refetchInterval: 3000,
    retry: false,
    networkMode: "always",
    gcTime: 0,
  });
  return (
    <Alert color="red" variant="outline" py={6} mb="md" role="status" icon={<Icon name="alert" />}>
      Could not reach the gateway. Reconnecting…
    </Alert>
  );
}
