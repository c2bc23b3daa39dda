import { Drawer, Stack } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  opened: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** The filters of a page on phones. */
export default function FilterDrawer({ opened, onClose, children }: Props) {
  return (
    <Drawer opened={opened} onClose={onClose} position="bottom" size="85%" title="Filters">
      <Stack gap="md">{children}</Stack>
    </Drawer>
  );
}
