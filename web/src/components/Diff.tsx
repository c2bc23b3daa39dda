import { SimpleGrid, Text } from "@mantine/core";
import { type ReactNode, useMemo } from "react";

import { similarity, type DiffPart, wordDiff } from "../lib/wordDiff";
import classes from "./Diff.module.css";
import { Redacted } from "./Redacted";

interface Props {
  /** The first version. Words that only this version contains are struck through. */
  before: string;
  /** The second version. Words that only this version contains are underlined. */
  after: string;
  /** Headings of the two versions. */
  labels: [ReactNode, ReactNode];
}

/** Two versions of a text with the differing words marked: side by side, or below each other on narrow screens. */
export function Diff({ before, after, labels }: Props) {
  const parts = useMemo(() => wordDiff(before, after), [before, after]);
  const same = Math.floor(100 * similarity(parts));
  return (
    <>
      <Text size="xs" c="dimmed" mb={6} role="status">
        {same === 100 ? "No differences." : `${same} % of the text is the same.`}
      </Text>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
        <Side label={labels[0]} parts={parts.filter(({ kind }) => kind !== "added")} />
        <Side label={labels[1]} parts={parts.filter(({ kind }) => kind !== "removed")} />
      </SimpleGrid>
    </>
  );
}

function Side({ label, parts }: { label: ReactNode; parts: DiffPart[] }) {
  return (
    <div style={{ minWidth: 0 }}>
      <Text size="xs" fw={600} c="dimmed" mb={4} component="div">
        {label}
      </Text>
      <div className={classes.text}>
        {parts.length === 0 && (
          <Text span size="sm" c="dimmed">
            No text
          </Text>
        )}
        {parts.map((part, i) => {
          const text = <Redacted key={i} text={part.text} invisible />;
          switch (part.kind) {
            case "removed":
              return (
                <del key={i} className={classes.removed}>
                  {text}
                </del>
              );
            case "added":
              return (
                <ins key={i} className={classes.added}>
                  {text}
                </ins>
              );
            default:
              return text;
          }
        })}
      </div>
    </div>
  );
}
