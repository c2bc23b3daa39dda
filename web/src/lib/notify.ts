import { useSyncExternalStore } from "react";

// Notifications are loaded when the first one is shown.

interface Notice {
  message: string;
  color: string;
  autoClose: number;
}

let used = false;
const listeners = new Set<() => void>();

/** Reports whether a notification was shown. The notification container is needed only then. */
export function useNotified(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => used,
  );
}

/** Shows a success notification for a few seconds. */
export function notifyDone(message: string): void {
  void show({ message, color: "green", autoClose: 4000 });
}

/** Shows a failure notification for ten seconds. */
export function notifyFailed(message: string): void {
  void show({ message, color: "red", autoClose: 10_000 });
}

async function show(notice: Notice): Promise<void> {
  used = true;
  for (const listener of listeners) {
    listener();
  }
  try {
    const { notifications } = await import("@mantine/notifications");
    notifications.show({ ...notice, closeButtonProps: { "aria-label": "Close" } });
  } catch {
    // The file is missing after an upgrade of the gateway. The next page that is opened reloads the dashboard.
  }
}
