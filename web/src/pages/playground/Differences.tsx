import { Button, Stack, Text } from "@mantine/core";
import { useState } from "react";

import { Diff } from "../../components/Diff";
import { Section } from "../../components/Section";
import type { TotalsColumn } from "./CompareTotals";
import { isRunning, type Run } from "./run";

interface Props {
  columns: TotalsColumn[];
  /** The column that the others are compared with. */
  baseline: string;
  /** The shown response of a column to the last prompt. */
  runOf: (column: string) => Run | undefined;
}

/** The responses to the last prompt, each compared word by word with that of the baseline column. */
export function Differences({ columns, baseline, runOf }: Props) {
  const [opened, setOpened] = useState(false);
  const base = columns.find((column) => column.id === baseline);
  const text = (column: string) => {
    const run = runOf(column);
    return run && !isRunning(run) && run.text ? run.text.trim() : undefined;
  };
  const before = text(baseline);
  const others = columns.filter((column) => column.id !== baseline && text(column.id) !== undefined);
  return (
    <Section title="Differences">
      {before === undefined || others.length === 0 || !base ? (
        <Text size="sm" c="dimmed">
          The differences to the baseline’s response appear here when both columns have answered.
        </Text>
      ) : (
        <>
          <Button
            size="xs"
            variant="default"
            aria-expanded={opened}
            mb="sm"
            onClick={() => setOpened(!opened)}
          >
            {opened ? "Hide differences" : "Show differences"}
          </Button>
          {opened && (
            <Stack gap="md">
              {others.map((column) => (
                <div key={column.id} role="group" aria-label={`Differences of ${column.label}`}>
                  <Diff
                    before={before}
                    after={text(column.id) ?? ""}
                    labels={[`${base.label} (baseline)`, column.label]}
                  />
                </div>
              ))}
            </Stack>
          )}
        </>
      )}
    </Section>
  );
}
