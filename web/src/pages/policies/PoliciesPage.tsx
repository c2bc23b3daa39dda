import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";

import { settingsQuery, workspaceQuery } from "../../api/manage";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { Section } from "../../components/Section";
import { DryRun } from "./DryRun";
import { PolicyList } from "./PolicyList";
import { RoutesNow } from "./RoutesNow";

/** What routes requests: the rules, the router, and a dry run to ask it. */
export function PoliciesPage() {
  const settings = useQuery(settingsQuery);
  const workspace = useQuery(workspaceQuery);
  // A page that has a body at hand passes it along with the way here.
  const start = useLocation({ select: ({ state }) => (state as { dryRun?: string }).dryRun });
  const error = settings.error ?? workspace.error;
  const retry = () => {
    void settings.refetch();
    void workspace.refetch();
  };
  return (
    <>
      <PageHeader title="Policies" description="What decides which model serves a request." />
      <Section title="What routes now">
        {error && <ErrorPanel what="The routing could not be loaded" error={error} onRetry={retry} />}
        {settings.data && workspace.data ? (
          <RoutesNow settings={settings.data} workspace={workspace.data} />
        ) : (
          !error && <PanelSkeleton height={96} />
        )}
      </Section>
      <Section title="Rules">
        <PolicyList />
      </Section>
      <Section title="Dry run">
        <DryRun key={start} start={start} />
      </Section>
    </>
  );
}
