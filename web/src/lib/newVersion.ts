import { pageFact } from "./page";

// The names of the dashboard's files contain a hash of their content. After an upgrade the gateway no longer has the
// files that an open tab asks for, and only a reload of the page helps.

const reloadKey = "fairlead-reloaded-at";
const loopMs = 60_000;

/** Messages of the browsers, and of Vite, for a file of the dashboard that could not be loaded. */
const messages =
  /^(Unable to preload CSS|Failed to fetch dynamically imported module|error loading dynamically imported module|Importing a module script failed)/i;

/** Reports whether an error means that a file of the dashboard could not be loaded. */
export function isLoadError(error: unknown): boolean {
  return error instanceof Error && messages.test(error.message);
}

/**
 * Reloads the page, unless it did so a moment ago or the gateway does not respond: then a reload would loop, or replace
 * the page with the browser's own error page. Returns whether the page is being reloaded.
 */
export async function reloadOnce(
  reload: () => void = () => location.reload(),
  now = Date.now(),
): Promise<boolean> {
  if (now - lastReload() < loopMs) {
    return false;
  }
  const response = await fetch("/health", { cache: "no-store" }).catch(() => undefined);
  if (!response?.ok) {
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

/** Reports whether the gateway runs another version than the one that this page was loaded from. */
export function isNewVersion(running: string): boolean {
  const loaded = pageFact("version");
  return loaded !== "" && running !== "" && loaded !== running;
}
