import { Button, Paper } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { EmptyState } from "../../components/EmptyState";
import { type Range, ranges, wider } from "../../lib/range";

interface Props {
  range: Range;
  filtered: boolean;
  /** Whether there are only simulated requests, which are excluded. */
  simulatedOnly: boolean;
  onClear: () => void;
  onRange: (range: Range) => void;
  onSimulated: () => void;
  /** Includes requests from the Playground; undefined when they are included already. */
  onPlayground: (() => void) | undefined;
}

/** Explains missing figures and offers the next step. */
export function EmptyOverview(props: Props) {
  const { range, filtered, simulatedOnly, onClear, onRange, onSimulated, onPlayground } = props;
  const next = wider(range);
  const longer = next && ranges.find((r) => r.from === next.from);
  const more = longer && (
    <Button variant="default" onClick={() => onRange({ from: longer.from })}>
      {longer.label}
    </Button>
  );
  return (
    <Paper withBorder>
      {simulatedOnly ? (
        <EmptyState
          icon="activity"
          title="Only simulated requests in this time range"
          actions={
            <>
              <Button onClick={onSimulated}>Include simulated requests</Button>
              {more}
            </>
          }
        >
          Simulated requests are excluded from the figures.
        </EmptyState>
      ) : filtered ? (
        <EmptyState
          icon="filter"
          title="No requests match these filters"
          actions={
            <>
              <Button onClick={onClear}>Clear filters</Button>
              {more}
            </>
          }
        />
      ) : (
        <EmptyState
          icon="rocket"
          title="No requests in this time range"
          actions={
            <>
              <Button component={Link} to="/quickstart">
                Open Quickstart
              </Button>
              {onPlayground && (
                <Button variant="default" onClick={onPlayground}>
                  Include Playground requests
                </Button>
              )}
              {more}
            </>
          }
        >
          Spend, savings and routing decisions will appear here after your first request.
        </EmptyState>
      )}
    </Paper>
  );
}
