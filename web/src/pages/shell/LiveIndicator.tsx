import { Button, Text, Tooltip } from "@mantine/core";

import { type LiveState, pauseLive, useLiveState } from "../../api/live";
import { Icon, type IconName } from "../../components/Icon";

interface Look {
  word: string;
  icon: IconName;
  tooltip: string;
}

const looks: Record<LiveState, Look> = {
  off: { word: "Connecting", icon: "refresh", tooltip: "Connecting to the gateway…" },
  connecting: { word: "Connecting", icon: "refresh", tooltip: "Connecting to the gateway…" },
  live: { word: "Live", icon: "activity", tooltip: "Live updates on. Click to pause." },
  paused: { word: "Paused", icon: "stop", tooltip: "Live updates paused. Click to resume." },
  reconnecting: {
    word: "Reconnecting",
    icon: "refresh",
    tooltip: "Connection lost. Reconnecting…",
  },
};

/** Shows the state of the tab's push connection. A click pauses or resumes it. */
export function LiveIndicator() {
  const state = useLiveState();
  const { word, icon, tooltip } = looks[state];
  return (
    <Tooltip label={tooltip}>
      <Button
        variant="default"
        size="xs"
        px={8}
        aria-label={`Live updates: ${word.toLowerCase()}`}
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
