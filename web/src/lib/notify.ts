import { notifications } from "@mantine/notifications";

const closeButtonProps = { "aria-label": "Close" };

/** Says for a few seconds that something was done and read back. */
export function notifyDone(message: string): void {
  notifications.show({ message, color: "green", autoClose: 4000, closeButtonProps });
}

/** Says for a while that something was not done. */
export function notifyFailed(message: string): void {
  notifications.show({ message, color: "red", autoClose: 10_000, closeButtonProps });
}
