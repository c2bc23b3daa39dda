import { SimpleGrid } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { workspaceQuery } from "../../api/manage";
import { PageHeader } from "../../components/PageHeader";
import { Section } from "../../components/Section";
import { useSession } from "../../lib/session";
import { Sessions } from "./Sessions";
import { Budget } from "./Budget";
import { DeleteAccount } from "./DeleteAccount";
import { Passkeys } from "./Passkeys";
import { PasswordForm } from "./PasswordForm";
import { ProfileForm } from "./ProfileForm";
import { SecondFactor } from "./SecondFactor";
import { WorkspaceSettings } from "./WorkspaceForm";

/** Settings of the signed-in account and its current workspace. */
export function AccountPage() {
  const { account, workspace: membership } = useSession();
  const workspace = useQuery(workspaceQuery);
  return (
    <>
      <PageHeader
        title="Account"
        description={`${account.email} · ${membership.role} of “${membership.name}”`}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl" verticalSpacing={0}>
        <Section title="Profile">
          <ProfileForm />
        </Section>
        {account.has_password && (
          <Section title="Password">
            <PasswordForm />
          </Section>
        )}
        <Section title="Passkeys">
          <Passkeys />
        </Section>
        <Section title="Two-factor authentication">
          <SecondFactor />
        </Section>
        <Section title="Workspace">
          <WorkspaceSettings />
        </Section>
        <Section title="Workspace budget">{workspace.data && <Budget workspace={workspace.data} />}</Section>
      </SimpleGrid>
      <Sessions />
      {account.has_password && (
        <Section title="Delete account">
          <DeleteAccount />
        </Section>
      )}
    </>
  );
}
