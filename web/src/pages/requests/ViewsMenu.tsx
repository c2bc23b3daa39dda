import { Button, Menu, Modal, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { type SavedView, saveView, viewsQuery } from "../../api/views";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { cleared, type Search } from "../../lib/filters";
import { notifyDone } from "../../lib/notify";
import { useSession } from "../../lib/session";
import { presets } from "./MoreFilters";
import { defaultColumns } from "./columns";
import { ManageViews, SaveViewForm } from "./ViewDialogs";
import { differs, searchOf, type Selection, settingsOf } from "./views";

interface Props {
  /** What the list shows now. */
  selection: Selection;
  /** The id of the view that was chosen last. */
  current: string | undefined;
  onSearch: (search: Search) => void;
  onColumns: (columns: string[]) => void;
}

/** The built-in and saved views of the request list. */
export function ViewsMenu({ selection, current, onSearch, onColumns }: Props) {
  const { may } = useSession();
  const { data } = useQuery(viewsQuery);
  const [dialog, setDialog] = useState<"save" | "manage">();
  const queryClient = useQueryClient();
  const views = data?.views ?? [];
  const active = views.find((view) => view.id === current);
  const changed = active !== undefined && differs(active, selection);
  const preset = presets.find(({ value }) => value === selection.filters.preset);
  const refresh = () => queryClient.invalidateQueries({ queryKey: viewsQuery.queryKey });
  const update = useMutation({
    mutationFn: (view: SavedView) => saveView(settingsOf(view.name, selection), view.id),
    onSuccess: async (view) => {
      await refresh();
      notifyDone(`Updated the view “${view.name}”.`);
    },
  });
  const show = (view: SavedView) => {
    onColumns(view.columns.length > 0 ? view.columns : defaultColumns);
    onSearch(searchOf(view));
  };
  const builtIn = (value?: string) =>
    onSearch({ ...cleared(), preset: value, sort: undefined, view: undefined, id: undefined });
  const label = active ? `${active.name}${changed ? " (changed)" : ""}` : (preset?.label ?? "Views");
  return (
    <>
      <Menu position="bottom-start" shadow="md" width={250}>
        <Menu.Target>
          <Button
            variant={active || preset ? "outline" : "default"}
            size="xs"
            maw={200}
            leftSection={<Icon name="layers" size={14} />}
            rightSection={<Icon name="chevronDown" size={12} />}
          >
            {label}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="70vh" style={{ overflowY: "auto" }}>
          <Menu.Item onClick={() => builtIn()}>All requests</Menu.Item>
          {presets.map(({ value, label: name }) => (
            <Menu.Item key={value} onClick={() => builtIn(value)}>
              {name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Label>Saved in this workspace</Menu.Label>
          {views.map((view) => (
            <Menu.Item
              key={view.id}
              onClick={() => show(view)}
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
              {changed && (
                <Menu.Item
                  leftSection={<Icon name="refresh" size={14} />}
                  onClick={() => update.mutate(active)}
                >
                  Update “{active.name}”
                </Menu.Item>
              )}
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
            placeholder="Slow searches"
            description="Saves the filters, time range, order and columns for everyone in this workspace."
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
      <Modal opened={update.isError} onClose={update.reset} title="Saved views">
        {update.error && <ErrorPanel what="Could not update the view" error={update.error} />}
      </Modal>
    </>
  );
}
