import { Button, Paper } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { EmptyState } from "../../components/EmptyState";
import { SampleButton } from "../samples/SampleButton";
import { type Range, ranges, wider } from "../../lib/range";

interface Props {
  range: Range;
  filtered: boolean;
  /** There are simulated requests, which are left out. */
  simulatedOnly: boolean;
  onClear: () => void;
  onRange: (range: Range) => void;
  onSimulated: () => void;
  /** Counts requests from the Playground too; undefined when they are counted already. */
  onPlayground: (() => void) | undefined;
}

/** Says why there are no figures, and offers the next step. */
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
          title="Only simulated requests in this range"
          actions={
            <>
              <Button onClick={onSimulated}>Include them</Button>
              {more}
            </>
          }
        >
          They are left out of the figures.
        </EmptyState>
      ) : filtered ? (
        <EmptyState
          icon="filter"
          title="No requests match these filters in this range"
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
          title="No requests in this range"
          actions={
            <>
              <Button component={Link} to="/quickstart">
                Open Quickstart
              </Button>
              <SampleButton />
              {onPlayground && (
                <Button variant="default" onClick={onPlayground}>
                  Count the Playground too
                </Button>
              )}
              {more}
            </>
          }
        >
          Once a client sends its first request, this page shows what was spent, what was saved and how models
          were chosen.
        </EmptyState>
      )}
    </Paper>
  );
}
