import { Group, Switch, Text } from "@mantine/core";

import { useNow } from "../../lib/useNow";

interface Props {
  live: boolean;
  onLive: (live: boolean) => void;
  simulated: boolean;
  onSimulated: (include: boolean) => void;
  /** When the figures were loaded, in milliseconds; nought before the first time. */
  refreshedAt: number;
}

/** The switches for figures that move and for simulated requests, and how old the figures are. */
export function LiveControls({ live, onLive, simulated, onSimulated, refreshedAt }: Props) {
  return (
    <Group gap="md">
      <Switch
        size="xs"
        label="Include simulated"
        checked={simulated}
        onChange={(event) => onSimulated(event.currentTarget.checked)}
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
    <Text size="xs" c="dimmed" miw={112} style={{ fontVariantNumeric: "tabular-nums" }}>
      refreshed {refreshedText(now - at)}
    </Text>
  );
}

/** How long ago, as short as can be. */
export function refreshedText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) {
    return `${seconds} s ago`;
  }
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
}
