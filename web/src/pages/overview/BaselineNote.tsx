import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { settingsQuery, workspaceQuery } from "../../api/manage";
import { PageLink } from "../../components/PageLink";
import { baselineOf } from "../../lib/baseline";
import { useSession } from "../../lib/session";

/** Shown if no baseline is set: explains how savings are measured, with a link to set a baseline. */
export function BaselineNote() {
  const { may } = useSession();
  const workspace = useQuery({ ...workspaceQuery, staleTime: 60_000 });
  const settings = useQuery({ ...settingsQuery, staleTime: 60_000 });
  if (!workspace.data || !settings.data || baselineOf(workspace.data, settings.data)) {
    return null;
  }
  return (
    <>
      Unless a request names a model, savings are measured against the most expensive candidate
      {may("manage_workspace") ? (
        <>
          ;{" "}
          <Anchor component={PageLink} to="/quickstart" inherit underline="always">
            set your baseline
          </Anchor>
          .
        </>
      ) : (
        "."
      )}
    </>
  );
}
