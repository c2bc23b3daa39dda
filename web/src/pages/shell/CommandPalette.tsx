import { Modal } from "@mantine/core";
import { lazy, Suspense } from "react";

import type { Page } from "../../routes";

const Palette = lazy(() => import("./Palette").then((module) => ({ default: module.Palette })));

interface Props {
  opened: boolean;
  onClose: () => void;
  pages: Page[];
}

/** Searches pages, actions and objects; a pasted request ID opens the request. It is loaded when it is opened. */
export function CommandPalette({ opened, onClose, pages }: Props) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      withCloseButton={false}
      yOffset="12vh"
      centered={false}
      padding="xs"
      size="lg"
      attributes={{ content: { "aria-label": "Command palette" } }}
      title={null}
    >
      {opened && (
        <Suspense fallback={null}>
          <Palette onClose={onClose} pages={pages} />
        </Suspense>
      )}
    </Modal>
  );
}
