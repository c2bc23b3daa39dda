import { Button, Group, NativeSelect, Stack, Text } from "@mantine/core";
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
  /** All responses of a column to the last prompt. */
  repeatsOf: (column: string) => Run[];
}

interface Response {
  label: string;
  text: string;
}

/** Responses to compare: each of the others with the first. */
interface Choice {
  value: string;
  label: string;
  base: Response;
  others: Response[];
}

/** The responses to the last prompt, compared word by word: between columns, or between the repeats of a column. */
export function Differences(props: Props) {
  const [opened, setOpened] = useState(false);
  const [chosen, setChosen] = useState("");
  const choices = choicesOf(props);
  const choice = choices.find(({ value }) => value === chosen) ?? choices[0];
  return (
    <Section title="Differences">
      {!choice ? (
        <Text size="sm" c="dimmed">
          Differences appear here when two columns have a response, or when one column has more than one
          response.
        </Text>
      ) : (
        <>
          <Group gap="sm" mb="sm" align="flex-end">
            {choices.length > 1 && (
              <NativeSelect
                size="xs"
                label="Compare"
                maw="100%"
                data={choices.map(({ value, label }) => ({ value, label }))}
                value={choice.value}
                onChange={(event) => setChosen(event.currentTarget.value)}
              />
            )}
            <Button size="xs" variant="default" aria-expanded={opened} onClick={() => setOpened(!opened)}>
              {opened ? "Hide differences" : "Show differences"}
            </Button>
          </Group>
          {opened && (
            <Stack gap="md">
              {choice.others.map(({ label, text }, i) => (
                <div key={i} role="group" aria-label={`Differences in ${label}`}>
                  <Diff before={choice.base.text} after={text} labels={[choice.base.label, label]} />
                </div>
              ))}
            </Stack>
          )}
        </>
      )}
    </Section>
  );
}

/**
 * The possible comparisons: the columns, if the baseline and another column have a response, and each column with
 * several responses.
 */
export function choicesOf({ columns, baseline, runOf, repeatsOf }: Props): Choice[] {
  const choices: Choice[] = [];
  const responses = columns.flatMap(({ id, label }) => {
    const text = textOf(runOf(id));
    return text === undefined ? [] : [{ id, label, text }];
  });
  const base = responses.find(({ id }) => id === baseline);
  const others = responses.filter((response) => response !== base);
  if (base && others.length > 0) {
    const first = { label: `${base.label} (baseline)`, text: base.text };
    choices.push({ value: "columns", label: "All columns with the baseline", base: first, others });
  }
  columns.forEach(({ id, label }, i) => {
    const [first, ...rest] = repeatsOf(id).flatMap((run, n) => {
      const text = textOf(run);
      return text === undefined ? [] : [{ label: `response ${n + 1}`, text }];
    });
    if (first && rest.length > 0) {
      const name = columns.length > 1 ? `Responses from ${i + 1}. ${label}` : `Responses from ${label}`;
      choices.push({ value: id, label: name, base: first, others: rest });
    }
  });
  return choices;
}

function textOf(run: Run | undefined): string | undefined {
  return run && !isRunning(run) && run.text ? run.text.trim() : undefined;
}
