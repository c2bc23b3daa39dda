import { Anchor, SimpleGrid, Text, Tooltip } from "@mantine/core";

import type { Schema } from "../../api/client";
import { Figure } from "../../components/Figure";
import { PageLink } from "../../components/PageLink";
import { baselineOf } from "../../lib/baseline";
import { Time } from "../../components/Time";
import { useSession } from "../../lib/session";

interface Props {
  settings: Schema["SettingsView"];
  workspace: Schema["WorkspaceView"];
  policySet: Schema["PolicyBook"];
}

/** The active routing settings: policies, router, objective and baseline. */
export function ActiveRouting({ settings, workspace, policySet }: Props) {
  const own = policySet.workspace;
  const { may } = useSession();
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm" mb="lg">
      <Figure label="Active policies" value={countText(policySet)}>
        {own.version > 0 ? (
          <>
            Version {own.version} by {own.saved_by_label ?? "unknown"}, <Time at={own.saved_at} as="age" />
            {own.note && `: ${own.note}`}
          </>
        ) : (
          "No saved version yet"
        )}
      </Figure>
      <Figure label="Router" value={settings.router_version}>
        <Tooltip
          label={`Predictor ${settings.predictor_version || "none"} · catalog ${settings.catalog_version}`}
        >
          <Text span inherit td="underline dotted" tabIndex={0}>
            Versions
          </Text>
        </Tooltip>
      </Figure>
      <Figure label="Objective" value="auto (0.5)">
        Balanced. A request or policy can override it.
      </Figure>
      <Figure label="Baseline" value={baselineOf(workspace, settings) ?? "None"}>
        {baselineText(settings, workspace)}{" "}
        {may("manage_workspace") && (
          <Anchor component={PageLink} to="/settings/account" size="xs" underline="always">
            Change
          </Anchor>
        )}
      </Figure>
    </SimpleGrid>
  );
}

function countText({ instance, workspace }: Schema["PolicyBook"]): string {
  const on = (policies: Schema["Policy"][]) => policies.filter((policy) => policy.enabled !== false).length;
  const [global, own] = [on(instance.policies), on(workspace.policies)];
  if (global + own === 0) {
    return "None";
  }
  if (global === 0) {
    return String(own);
  }
  return own === 0 ? `${global} global` : `${own} + ${global} global`;
}

function baselineText(settings: Schema["SettingsView"], workspace: Schema["WorkspaceView"]): string {
  if (workspace.default_model) {
    return "Workspace default. Requests and keys can override it.";
  }
  return settings.default_model
    ? "Gateway default. Requests and keys can override it."
    : "No default model is set, so only costs are shown, no savings.";
}
