import { Text } from "@mantine/core";

import { conditionWords } from "./condition";
import classes from "./policies.module.css";

/** A condition in words where it has simple ones, else as it is written. */
export function Condition({ when }: { when: string | undefined }) {
  if (!when) {
    return (
      <Text span inherit c="dimmed">
        always
      </Text>
    );
  }
  const parts = conditionWords(when);
  return (
    <>
      if{" "}
      {parts ? (
        parts.map((part, i) => (typeof part === "string" ? part : <em key={i}>{part.value}</em>))
      ) : (
        <code className={classes.cel}>{when}</code>
      )}
    </>
  );
}
