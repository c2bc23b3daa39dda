import { lazy, Suspense, useEffect } from "react";

import { compareReleases, releaseOf } from "../../lib/changelog";
import { useSession } from "../../lib/session";
import { useStored } from "../../lib/stored";

// The changelog is only loaded after an upgrade.
const Changes = lazy(() => import("./Changes"));

/**
 * The changes since the release that this account last saw in this browser. An account without a record is new in this
 * browser, so no changes are shown.
 */
export function WhatsNew() {
  const { account, server } = useSession();
  const [seen, setSeen] = useStored<string | null>(`seen-release-${account.id}`, null);
  const release = releaseOf(server.version);
  const upgraded = release !== undefined && seen !== null && compareReleases(release, seen) > 0;
  useEffect(() => {
    if (release !== undefined && release !== seen && !upgraded) {
      setSeen(release);
    }
  }, [release, seen, upgraded, setSeen]);
  if (!upgraded) {
    return null;
  }
  return (
    <Suspense>
      <Changes after={seen} release={release} onClose={() => setSeen(release)} />
    </Suspense>
  );
}
