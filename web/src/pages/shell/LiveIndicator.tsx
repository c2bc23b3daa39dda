import { Button, Text, Tooltip } from "@mantine/core";

import { type LiveState, pauseLive, useLiveState } from "../../api/live";
import { Icon, type IconName } from "../../components/Icon";

interface Look {
  word: string;
  icon: IconName;
  explains: string;
}

const looks: Record<LiveState, Look> = {
  off: { word: "Connecting", icon: "refresh", explains: "Connecting to the gateway." },
  connecting: { word: "Connecting", icon: "refresh", explains: "Connecting to the gateway." },
  live: { word: "Live", icon: "activity", explains: "Connected: news come by themselves. Press to pause." },
  paused: { word: "Paused", icon: "stop", explains: "Nothing comes by itself. Press to go on." },
  reconnecting: {
    word: "Reconnecting",
    icon: "refresh",
    explains: "The connection broke. It is tried again by itself.",
  },
};

/** Shows how the tab's push connection stands; pressing it pauses, or goes on. */
export function LiveIndicator() {
  const state = useLiveState();
  const { word, icon, explains } = looks[state];
  return (
    <Tooltip label={explains}>
      <Button
        variant="default"
        size="xs"
        px={8}
        aria-label={`Push connection: ${word.toLowerCase()}`}
        data-live={state}
        onClick={() => pauseLive(state !== "paused")}
      >
        <Icon name={icon} size={14} />
        <Text span size="xs" ml={6} visibleFrom="sm">
          {word}
        </Text>
      </Button>
    </Tooltip>
  );
}
