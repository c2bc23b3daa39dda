import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { settingsQuery, workspaceQuery } from "../../api/manage";
import { PageLink } from "../../components/PageLink";
import { baselineOf } from "../../lib/baseline";
import { useSession } from "../../lib/session";

/** Shown if no baseline is set: says that there are no savings without one, with a link to set it. */
export function BaselineNote() {
  const { may } = useSession();
  const workspace = useQuery({ ...workspaceQuery, staleTime: 60_000 });
  const settings = useQuery({ ...settingsQuery, staleTime: 60_000 });
  if (!workspace.data || !settings.data || baselineOf(workspace.data, settings.data)) {
    return null;
  }
  return (
    <>
      Savings appear once the workspace has a baseline.
      {may("manage_workspace") && (
        <>
          {" "}
          <Anchor component={PageLink} to="/quickstart" inherit underline="always">
            Which model do you use today?
          </Anchor>
        </>
      )}
    </>
  );
}
