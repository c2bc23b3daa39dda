import { Button, Menu, type MenuProps, Modal, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import type { Schema } from "../../api/client";
import { type SavedView, saveView, viewsQuery } from "../../api/views";
import { Icon } from "../../components/Icon";
import type { Search } from "../../lib/filters";
import { notifyDone } from "../../lib/notify";
import { useSession } from "../../lib/session";
import { ManageViews, SaveViewForm } from "./ViewDialogs";

interface Props {
  views: SavedView[];
  /** The id of the view that was chosen last. */
  current: string | undefined;
  /** Text of the button. */
  label: string;
  /** Whether a view is chosen. */
  chosen: boolean;
  position: MenuProps["position"];
  /** Items above the saved views. */
  children?: ReactNode;
  /** Items above "Save view…", for users with the permission to change views. */
  changes?: ReactNode;
  placeholder: string;
  description: string;
  /** The settings that save the current selection under a name. */
  settings: (name: string) => Schema["ViewSettings"];
  onShow: (view: SavedView) => void;
  onSearch: (search: Search) => void;
}

/** The menu of saved views, with the dialogs that save, rename and delete them. */
export function SavedViews({ views, current, label, chosen, position, children, changes, ...props }: Props) {
  const { may } = useSession();
  const [dialog, setDialog] = useState<"save" | "manage">();
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: viewsQuery.queryKey });
  return (
    <>
      <Menu position={position} shadow="md" width={250}>
        <Menu.Target>
          <Button
            variant={chosen ? "outline" : "default"}
            size="xs"
            maw={200}
            leftSection={<Icon name="layers" size={14} />}
            rightSection={<Icon name="chevronDown" size={12} />}
          >
            {label}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="70vh" style={{ overflowY: "auto" }}>
          {children}
          <Menu.Label>Saved in this workspace</Menu.Label>
          {views.map((view) => (
            <Menu.Item
              key={view.id}
              onClick={() => props.onShow(view)}
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
              {changes}
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
            placeholder={props.placeholder}
            description={props.description}
            save={(name) => saveView(props.settings(name))}
            onSaved={async (view) => {
              await refresh();
              setDialog(undefined);
              notifyDone(`Saved the view “${view.name}”.`);
              props.onSearch({ view: view.id });
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
