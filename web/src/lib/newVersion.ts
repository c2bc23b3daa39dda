import { pageMeta } from "./page";

// The dashboard's file names contain a content hash. After an upgrade the gateway no longer has the files that an open
// tab requests, so the page must be reloaded.

const reloadKey = "fairlead-reloaded-at";
const loopMs = 60_000;

/** Messages of browsers and Vite for a dashboard file that could not be loaded. */
const messages =
  /^(Unable to preload CSS|Failed to fetch dynamically imported module|error loading dynamically imported module|Importing a module script failed)/i;

/** A dashboard file could not be loaded. */
export class LoadError extends Error {}

/** Reports whether an error means that a dashboard file could not be loaded. */
export function isLoadError(error: unknown): boolean {
  return error instanceof LoadError || (error instanceof Error && messages.test(error.message));
}

/**
 * Reloads the page and returns true. It returns false without a reload if the page was reloaded within the last minute,
 * because it could reload forever, or if the gateway does not respond, because the browser would show its error page.
 */
export async function reloadOnce(
  reload: () => void = () => location.reload(),
  now = Date.now(),
): Promise<boolean> {
  const response = await fetch("/health", { cache: "no-store" }).catch(() => undefined);
  // Checked after the wait: another call may have reloaded the page meanwhile.
  if (!response?.ok || now - lastReload() < loopMs) {
    return false;
  }
  try {
    sessionStorage.setItem(reloadKey, String(now));
  } catch {
    return false; // without a record of reloads the page could reload forever
  }
  reload();
  return true;
}

function lastReload(): number {
  try {
    return Number(sessionStorage.getItem(reloadKey) ?? 0);
  } catch {
    return 0;
  }
}

/** Reports whether the gateway runs a different version than this page. */
export function isNewVersion(running: string): boolean {
  const loaded = pageMeta("version");
  return loaded !== "" && running !== "" && loaded !== running;
}
