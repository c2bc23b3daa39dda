import { notifications } from "@mantine/notifications";

const closeButtonProps = { "aria-label": "Close" };

/** Shows a success notification for a few seconds. */
export function notifyDone(message: string): void {
  notifications.show({ message, color: "green", autoClose: 4000, closeButtonProps });
}

/** Shows a failure notification for ten seconds. */
export function notifyFailed(message: string): void {
  notifications.show({ message, color: "red", autoClose: 10_000, closeButtonProps });
}
