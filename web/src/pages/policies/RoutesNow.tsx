import { Anchor, SimpleGrid } from "@mantine/core";

import type { Schema } from "../../api/client";
import { Figure } from "../../components/Figure";
import { PageLink } from "../../components/PageLink";
import { Time } from "../../components/Time";
import { useSession } from "../../lib/session";

interface Props {
  settings: Schema["SettingsView"];
  workspace: Schema["WorkspaceView"];
  book: Schema["PolicyBook"];
}

/** What decides at the moment. */
export function RoutesNow({ settings, workspace, book }: Props) {
  const own = book.workspace;
  const { may } = useSession();
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm" mb="lg">
      <Figure label="Policies in force" value={policyWords(book)}>
        {own.version > 0 ? (
          <>
            Version {own.version} by {own.saved_by_label ?? "somebody"}, <Time at={own.saved_at} as="age" />
            {own.note && `: ${own.note}`}
          </>
        ) : (
          "Nothing was saved yet."
        )}
      </Figure>
      <Figure label="Router" value={settings.router_version}>
        Predictor {settings.predictor_version || "none"}, catalog {settings.catalog_version}.
      </Figure>
      <Figure label="Objective" value="auto (0.5)">
        Balanced, unless a request or a policy says otherwise.
      </Figure>
      <Figure label="Baseline" value={baseline(settings, workspace)}>
        {baselineWords(settings, workspace)}{" "}
        {may("manage_workspace") && (
          <Anchor component={PageLink} to="/settings/account" size="xs" underline="always">
            Change
          </Anchor>
        )}
      </Figure>
    </SimpleGrid>
  );
}

function policyWords({ instance, workspace }: Schema["PolicyBook"]): string {
  const on = (policies: Schema["Policy"][]) => policies.filter((policy) => policy.enabled !== false).length;
  const [above, own] = [on(instance.policies), on(workspace.policies)];
  if (above + own === 0) {
    return "none";
  }
  return above > 0 ? `${own}, and ${above} of the instance` : String(own);
}

function baseline(settings: Schema["SettingsView"], workspace: Schema["WorkspaceView"]): string {
  return workspace.default_model ?? settings.default_model ?? "the priciest candidate";
}

function baselineWords(settings: Schema["SettingsView"], workspace: Schema["WorkspaceView"]): string {
  if (workspace.default_model) {
    return "The workspace’s default model, where caller and key name none.";
  }
  return settings.default_model
    ? "The gateway’s default model, where caller and key name none."
    : "No default model is set; for each request the dearest model that could serve it.";
}
