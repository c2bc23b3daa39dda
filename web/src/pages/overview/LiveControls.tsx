import { Group, Switch, Text } from "@mantine/core";

import { useNow } from "../../lib/useNow";

interface Props {
  live: boolean;
  onLive: (live: boolean) => void;
  simulated: boolean;
  onSimulated: (include: boolean) => void;
  playground: boolean;
  onPlayground: (include: boolean) => void;
  /** When the figures were loaded, in milliseconds; 0 before the first load. */
  refreshedAt: number;
}

/** The switches for live updates and for simulated and Playground requests, and the age of the figures. */
export function LiveControls(props: Props) {
  const { live, onLive, simulated, onSimulated, playground, onPlayground, refreshedAt } = props;
  return (
    <Group gap="sm">
      <Switch
        size="xs"
        label="Simulated"
        aria-label="Include simulated requests"
        checked={simulated}
        onChange={(event) => onSimulated(event.currentTarget.checked)}
      />
      <Switch
        size="xs"
        label="Playground"
        aria-label="Include Playground requests"
        checked={playground}
        onChange={(event) => onPlayground(event.currentTarget.checked)}
      />
      <Switch
        size="xs"
        label="Live"
        checked={live}
        onChange={(event) => onLive(event.currentTarget.checked)}
      />
      {refreshedAt > 0 && <Refreshed at={refreshedAt} />}
    </Group>
  );
}

function Refreshed({ at }: { at: number }) {
  const now = useNow();
  return (
    <Text size="xs" c="dimmed" miw={104} style={{ fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" }}>
      Updated {refreshedText(now - at)}
    </Text>
  );
}

/** Formats an age in its shortest form. */
export function refreshedText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 5) {
    return "just now";
  }
  if (seconds < 60) {
    return `${seconds} s ago`;
  }
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
}
