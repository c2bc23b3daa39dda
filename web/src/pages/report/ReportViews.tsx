import { useQuery } from "@tanstack/react-query";

import { reportViewsQuery } from "../../api/views";
import type { Search } from "../../lib/filters";
import { useSession } from "../../lib/session";
import { SavedViews } from "../requests/SavedViews";
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
  const views = data?.views ?? [];
  const active = views.find((view) => view.id === current);
  return (
    may("read_requests") && (
      <SavedViews
        views={views}
        current={current}
        label={active?.name ?? "Views"}
        chosen={active !== undefined}
        position="bottom-end"
        placeholder="Spend by team"
        description="Saves the time range, groups, measure and filters for everyone in this workspace."
        settings={(name) => settingsOf(name, selection)}
        onShow={(view) => onSearch(searchOf(view))}
        onSearch={onSearch}
      />
    )
  );
}
