import { ActionIcon, Box, Button, Drawer, Group, Tooltip } from "@mantine/core";

import { Icon } from "../../../components/Icon";
import { PageLink } from "../../../components/PageLink";
import { useShortcuts } from "../../../lib/keyboard";
import { usePhone } from "../../../lib/usePhone";
import { RequestView } from "./RequestView";

interface Props {
  id: string | undefined;
  /** The ids of the list, in order, for "[" and "]". */
  ids: string[];
  onOpen: (id: string | undefined) => void;
}

/** The detail of a request in a drawer over the list. */
export function RequestDrawer({ id, ids, onOpen }: Props) {
  const phone = usePhone();
  const at = id === undefined ? -1 : ids.indexOf(id);
  const [previous, next] = at < 0 ? [] : [ids[at - 1], ids[at + 1]];
  useShortcuts(
    id === undefined
      ? []
      : [
          { keys: "[", label: "Previous request", run: () => previous && onOpen(previous) },
          { keys: "]", label: "Next request", run: () => next && onOpen(next) },
        ],
  );
  return (
    <Drawer
      opened={id !== undefined}
      onClose={() => onOpen(undefined)}
      position="right"
      size={phone ? "100%" : "min(860px, 72vw)"}
      closeButtonProps={{ "aria-label": "Close" }}
      overlayProps={{ backgroundOpacity: 0.15 }}
      title={
        id && (
          <Group gap="xs">
            <Step label="Previous request" to={previous} icon="chevronLeft" onOpen={onOpen} />
            <Step label="Next request" to={next} icon="chevronRight" onOpen={onOpen} />
            <Button
              component={PageLink}
              to="/requests/$id"
              params={{ id }}
              size="compact-xs"
              variant="subtle"
            >
              Open as page
            </Button>
          </Group>
        )
      }
    >
      {id && (
        <Box tabIndex={-1} data-autofocus style={{ outline: "none" }}>
          <RequestView id={id} key={id} />
        </Box>
      )}
    </Drawer>
  );
}

interface StepProps {
  label: string;
  to: string | undefined;
  icon: "chevronLeft" | "chevronRight";
  onOpen: (id: string) => void;
}

function Step({ label, to, icon, onOpen }: StepProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="default"
        size="sm"
        aria-label={label}
        disabled={!to}
        onClick={() => to && onOpen(to)}
      >
        <Icon name={icon} size={14} />
      </ActionIcon>
    </Tooltip>
  );
}
