import { Text } from "@mantine/core";

import { conditionWords } from "./condition";
import classes from "./policies.module.css";

/** A condition in words if it is simple, otherwise as CEL. */
export function Condition({ when }: { when: string | undefined }) {
  if (!when) {
    return (
      <Text span inherit c="dimmed">
        Always
      </Text>
    );
  }
  const parts = conditionWords(when);
  return (
    <>
      If{" "}
      {parts ? (
        parts.map((part, i) => (typeof part === "string" ? part : <em key={i}>{part.value}</em>))
      ) : (
        <code className={classes.cel}>{when}</code>
      )}
    </>
  );
}
