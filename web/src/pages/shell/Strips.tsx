import { Alert, Anchor, Button, Group, Progress, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { useLiveState } from "../../api/live";
import { attentionQuery, sessionQuery } from "../../api/queries";
import { stopSamples, useSampleRun } from "../../api/samples";
import { Icon } from "../../components/Icon";
import { isNewVersion } from "../../lib/newVersion";
import { setReachable, useReachable } from "../../lib/reachable";
import { useSession } from "../../lib/session";
import { pages } from "../../routes";
import { PageLink } from "../../components/PageLink";
import { kindTitles, placeOf } from "../overview/attention";

/** The strips for facts that need action: they stay until the fact is gone. */
export function Strips() {
  const { server, may } = useSession();
  const reachable = useReachable();
  useVersionCheck();
  const place =
    pages.find((page) => page.path === "/providers") ?? pages.find((page) => page.path === "/quickstart");
  return (
    <>
      {!reachable && <Unreachable />}
      {isNewVersion(server.version) && <NewVersion />}
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
      {may("read_figures") && <Facts />}
      <SampleStrip />
    </>
  );
}

/** Asks for the gateway's version again after the push connection was lost: the gateway may have been upgraded. */
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

/** Offers the dashboard of the version that the gateway runs now. */
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

const pressing = ["no_provider", "storage_low"];

/** What keeps the gateway as a whole from working, now or soon, and that a file owns part of it. */
function Facts() {
  const { data } = useQuery(attentionQuery);
  const facts = data?.attention.filter((fact) => pressing.includes(fact.kind)) ?? [];
  const strips = facts.map((fact) => {
    const place = placeOf(fact.kind);
    return (
      <Alert
        key={fact.object}
        color={fact.severity === "error" ? "red" : "orange"}
        variant="outline"
        py={4}
        px="sm"
        mb="md"
        role="status"
        icon={<Icon name="alert" />}
      >
        <Text size="xs">
          <strong>{kindTitles[fact.kind]}</strong>: {fact.message}{" "}
          <Anchor component={PageLink} to={place.to} inherit>
            {place.label}
          </Anchor>
        </Text>
      </Alert>
    );
  });
  return (
    <>
      {strips}
      {data?.config_file && (
        <Alert color="gray" variant="outline" py={4} px="sm" mb="md" role="status">
          <Text size="xs">
            <strong>Set in a file</strong>: what <code>{data.config_file}</code> sets is changed there and
            closed here.
          </Text>
        </Alert>
      )}
    </>
  );
}

/** Sample traffic under way. It goes on over a change of pages, so it is shown on all of them. */
function SampleStrip() {
  const run = useSampleRun();
  if (!run) {
    return null;
  }
  return (
    <Alert color="grape" variant="outline" py={4} px="sm" mb="md" role="status">
      <Group gap="sm" wrap="nowrap">
        <Text size="xs" style={{ flexShrink: 0 }}>
          Creating sample traffic: {run.done} of {run.total || "…"}
        </Text>
        <Progress
          value={run.total ? (100 * run.done) / run.total : 0}
          flex={1}
          size="sm"
          color="grape"
          aria-label="Sample traffic"
        />
        <Button size="compact-xs" variant="default" onClick={stopSamples}>
          Stop
        </Button>
      </Group>
    </Alert>
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
