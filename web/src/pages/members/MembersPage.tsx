import { ActionIcon, Badge, Button, Group, Menu, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { membersQuery } from "../../api/manage";
import { type Column, DataTable } from "../../components/DataTable";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { RowsSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { Time } from "../../components/Time";
import { useSession } from "../../lib/session";
import { Invitations } from "./Invitations";
import { InviteDialog } from "./InviteDialog";
import { RemoveDialog } from "./RemoveDialog";
import { RoleDialog } from "./RoleDialog";
import { mayChange } from "./roles";

type Member = Schema["MemberView"];

/** The members of the workspace and its open invitations. */
export function MembersPage() {
  const { may, workspace } = useSession();
  const { data, error, refetch } = useQuery(membersQuery);
  const [inviting, setInviting] = useState(false);
  const [changing, setChanging] = useState<Member>();
  const [removing, setRemoving] = useState<Member>();
  const manages = may("manage_members");
  const menu = (member: Member) => <MemberMenu member={member} onRole={setChanging} onRemove={setRemoving} />;
  return (
    <>
      <PageHeader
        title="Members"
        description={`Members of “${workspace.name}” and their roles. Your role: ${workspace.role}.`}
        actions={
          manages && (
            <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setInviting(true)}>
              Invite member
            </Button>
          )
        }
      />
      {error && <ErrorPanel what="Could not load members" error={error} onRetry={() => void refetch()} />}
      {!data && !error && <RowsSkeleton rows={3} />}
      {data && <MemberTable members={data.members} menu={menu} />}
      {manages && data && (
        <Group mt="xl" display="block">
          <Invitations names={Object.fromEntries(data.members.map((m) => [m.account_id, m.email]))} />
        </Group>
      )}
      {!manages && (
        <Text size="sm" c="dimmed" mt="md">
          Only owners and admins can invite members and change roles.
        </Text>
      )}
      <InviteDialog opened={inviting} onClose={() => setInviting(false)} />
      <RoleDialog member={changing} onClose={() => setChanging(undefined)} />
      <RemoveDialog member={removing} onClose={() => setRemoving(undefined)} />
    </>
  );
}

function MemberTable({ members, menu }: { members: Member[]; menu: (member: Member) => React.ReactNode }) {
  const columns: Column<Member>[] = [
    { id: "name", label: "Name", render: (m) => <Name member={m} />, maxWidth: 260 },
    { id: "email", label: "Email", render: (m) => m.email, maxWidth: 280 },
    {
      id: "role",
      label: "Role",
      render: (m) => (
        <Badge color="gray" radius="sm">
          {m.role}
        </Badge>
      ),
    },
    { id: "joined", label: "Joined", render: (m) => <Time at={m.joined_at} as="day" /> },
    { id: "menu", label: "Actions", render: menu },
  ];
  return (
    <DataTable
      label="Members"
      rows={members}
      columns={columns}
      rowKey={(m) => m.account_id}
      phone={(m) => ({
        top: (
          <>
            <Name member={m} />
            <Badge color="gray" radius="sm">
              {m.role}
            </Badge>
          </>
        ),
        bottom: (
          <>
            <Text size="sm" c="dimmed" truncate>
              {m.email}
            </Text>
            {menu(m)}
          </>
        ),
      })}
    />
  );
}

function Name({ member }: { member: Member }) {
  const { account } = useSession();
  return (
    <Text span inherit fw={600} truncate>
      {member.name || member.email}
      {member.account_id === account.id && (
        <Text span inherit fw={400} c="dimmed">
          {" "}
          (you)
        </Text>
      )}
    </Text>
  );
}

interface MenuProps {
  member: Member;
  onRole: (member: Member) => void;
  onRemove: (member: Member) => void;
}

function MemberMenu({ member, onRole, onRemove }: MenuProps) {
  const { may, account, workspace } = useSession();
  const self = member.account_id === account.id;
  const manages = may("manage_members") && mayChange(workspace.role, member.role);
  if (!self && !manages) {
    return null;
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${member.email}`}>
          <Icon name="dots" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {manages && (
          <Menu.Item leftSection={<Icon name="shield" size={14} />} onClick={() => onRole(member)}>
            Change role
          </Menu.Item>
        )}
        <Menu.Item
          color="red"
          leftSection={<Icon name={self ? "logout" : "trash"} size={14} />}
          onClick={() => onRemove(member)}
        >
          {self ? "Leave workspace" : "Remove"}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
