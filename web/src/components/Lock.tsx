import { Tooltip } from "@mantine/core";

import { Icon } from "./Icon";

/** Marks a value that cannot be changed here, with the reason. */
export function Lock({ reason }: { reason: string }) {
  return (
    <Tooltip label={reason}>
      <span
        role="img"
        aria-label={`Locked. ${reason}`}
        tabIndex={0}
        style={{ display: "inline-flex", flexShrink: 0 }}
      >
        <Icon name="lock" size={13} />
      </span>
    </Tooltip>
  );
}
