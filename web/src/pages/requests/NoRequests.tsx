import { Button } from "@mantine/core";

import { EmptyState } from "../../components/EmptyState";
import { PageLink } from "../../components/PageLink";
import { chipsOf, cleared, type Filters } from "../../lib/filters";
import { type Range, ranges, wider } from "../../lib/range";

interface Props {
  filters: Filters;
  range: Range;
  live: boolean;
  onChange: (change: Record<string, string | undefined>) => void;
}

/** Explains why the list is empty and offers the next step. */
export function NoRequests({ filters, range, live, onChange }: Props) {
  const longer = wider(range);
  const filtered = chipsOf(filters).length > 0;
  const label = ranges.find((r) => r.from === range.from)?.label.toLowerCase();
  const period = label ? `the ${label}` : "this time range";
  const widen = longer && (
    <Button variant="default" size="xs" onClick={() => onChange({ from: longer.from, to: undefined })}>
      Show the {ranges.find((r) => r.from === longer.from)?.label.toLowerCase()}
    </Button>
  );
  if (filters.preset === "errors" && chipsOf(filters).length === 1) {
    return <EmptyState icon="check" title={`No errors in ${period}`} actions={widen} />;
  }
  if (filtered) {
    return (
      <EmptyState
        title="No results"
        actions={
          <>
            <Button size="xs" onClick={() => onChange(cleared())}>
              Clear filters
            </Button>
            {widen}
          </>
        }
      >
        No requests in {period} match all filters.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={live ? "activity" : "rocket"}
      title={live ? "Waiting for requests" : `No requests in ${period}`}
      actions={
        <>
          <Button size="xs" component={PageLink} to="/quickstart">
            Open Quickstart
          </Button>
          {widen}
        </>
      }
    >
      The Quickstart shows how to send your first request.
    </EmptyState>
  );
}
