import { Button, Menu, Modal, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { reportViewsQuery, saveView } from "../../api/views";
import { Icon } from "../../components/Icon";
import type { Search } from "../../lib/filters";
import { notifyDone } from "../../lib/notify";
import { useSession } from "../../lib/session";
import { ManageViews, SaveViewForm } from "../requests/ViewDialogs";
import { searchOf, type Selection, settingsOf } from "./report";

interface Props {
  selection: Selection;
  /** The id of the view that was chosen last. */
  current: string | undefined;
  onSearch: (search: Search) => void;
}

/** The saved views of the report. */
export function ReportViews({ selection, current, onSearch }: Props) {
  const { may } = useSession();
  const { data } = useQuery({ ...reportViewsQuery, enabled: may("read_requests") });
  const [dialog, setDialog] = useState<"save" | "manage">();
  const queryClient = useQueryClient();
  const views = data?.views ?? [];
  const active = views.find((view) => view.id === current);
  const refresh = () => queryClient.invalidateQueries({ queryKey: reportViewsQuery.queryKey });
  if (!may("read_requests")) {
    return null;
  }
  return (
    <>
      <Menu position="bottom-end" shadow="md" width={250}>
        <Menu.Target>
          <Button
            variant={active ? "outline" : "default"}
            size="xs"
            maw={200}
            leftSection={<Icon name="layers" size={14} />}
            rightSection={<Icon name="chevronDown" size={12} />}
          >
            {active?.name ?? "Views"}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="70vh" style={{ overflowY: "auto" }}>
          <Menu.Label>Saved in this workspace</Menu.Label>
          {views.map((view) => (
            <Menu.Item
              key={view.id}
              onClick={() => onSearch(searchOf(view))}
              aria-current={view.id === current || undefined}
              style={{ overflowWrap: "anywhere" }}
            >
              {view.name}
            </Menu.Item>
          ))}
          {views.length === 0 && (
            <Text size="sm" c="dimmed" px="sm" py={4}>
              No saved views
            </Text>
          )}
          {may("manage_views") && (
            <>
              <Menu.Divider />
              <Menu.Item leftSection={<Icon name="plus" size={14} />} onClick={() => setDialog("save")}>
                Save view…
              </Menu.Item>
              {views.length > 0 && (
                <Menu.Item
                  leftSection={<Icon name="settings" size={14} />}
                  onClick={() => setDialog("manage")}
                >
                  Manage views…
                </Menu.Item>
              )}
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      <Modal opened={dialog === "save"} onClose={() => setDialog(undefined)} title="Save view">
        {dialog === "save" && (
          <SaveViewForm
            placeholder="Spend by team"
            description="Saves the time range, groups, measure and filters for everyone in this workspace."
            save={(name) => saveView(settingsOf(name, selection))}
            onSaved={async (view) => {
              await refresh();
              setDialog(undefined);
              notifyDone(`Saved the view “${view.name}”.`);
              onSearch({ view: view.id });
            }}
          />
        )}
      </Modal>
      <Modal opened={dialog === "manage"} onClose={() => setDialog(undefined)} title="Saved views">
        {dialog === "manage" && <ManageViews views={views} onChanged={refresh} />}
      </Modal>
    </>
  );
}
