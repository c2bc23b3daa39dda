import { Menu, Modal } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { type SavedView, saveView, viewsQuery } from "../../api/views";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { cleared, type Search } from "../../lib/filters";
import { notifyDone } from "../../lib/notify";
import { presets } from "./MoreFilters";
import { defaultColumns } from "./columns";
import { SavedViews } from "./SavedViews";
import { differs, searchOf, type Selection, settingsOf } from "./views";

interface Props {
  /** The current selection of the list. */
  selection: Selection;
  /** The id of the view that was chosen last. */
  current: string | undefined;
  onSearch: (search: Search) => void;
  onColumns: (columns: string[]) => void;
}

/** The built-in and saved views of the request list. */
export function ViewsMenu({ selection, current, onSearch, onColumns }: Props) {
  const { data } = useQuery(viewsQuery);
  const queryClient = useQueryClient();
  const views = data?.views ?? [];
  const active = views.find((view) => view.id === current);
  const changed = active !== undefined && differs(active, selection);
  const preset = presets.find(({ value }) => value === selection.filters.preset);
  const update = useMutation({
    mutationFn: (view: SavedView) => saveView(settingsOf(view.name, selection), view.id),
    onSuccess: async (view) => {
      await queryClient.invalidateQueries({ queryKey: viewsQuery.queryKey });
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
      <SavedViews
        views={views}
        current={current}
        label={label}
        chosen={Boolean(active ?? preset)}
        position="bottom-start"
        placeholder="Slow searches"
        description="Saves the filters, time range, order and columns for everyone in this workspace."
        settings={(name) => settingsOf(name, selection)}
        onShow={show}
        onSearch={onSearch}
        changes={
          changed && (
            <Menu.Item leftSection={<Icon name="refresh" size={14} />} onClick={() => update.mutate(active)}>
              Update “{active.name}”
            </Menu.Item>
          )
        }
      >
        <Menu.Item onClick={() => builtIn()}>All requests</Menu.Item>
        {presets.map(({ value, label: name }) => (
          <Menu.Item key={value} onClick={() => builtIn(value)}>
            {name}
          </Menu.Item>
        ))}
        <Menu.Divider />
      </SavedViews>
      <Modal opened={update.isError} onClose={update.reset} title="Saved views">
        {update.error && <ErrorPanel what="Could not update the view" error={update.error} />}
      </Modal>
    </>
  );
}
