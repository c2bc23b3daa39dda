import { Box, Code, Group } from "@mantine/core";

import { CopyButton } from "./CopyButton";
import { Redacted } from "./Redacted";

/** A selectable block of code with a copy button. */
export function CodeBlock({
  text,
  label = "Copy",
  maxHeight,
}: {
  text: string;
  label?: string;
  maxHeight?: number;
}) {
  return (
    <Box pos="relative">
      <Code
        block
        mah={maxHeight}
        tabIndex={0}
        style={{ overflow: "auto", userSelect: "text", whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}
        pr={105}
      >
        <Redacted text={text} />
      </Code>
      <Group pos="absolute" top={6} right={6}>
        <CopyButton text={text} label={label} />
      </Group>
    </Box>
  );
}
