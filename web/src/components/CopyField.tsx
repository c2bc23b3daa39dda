import { Group, TextInput } from "@mantine/core";

import { CopyButton } from "./CopyButton";

/** A value to copy, such as a key or a link. Focusing the field selects the value. */
export function CopyField({ label, value }: { label: string; value: string }) {
  return (
    <Group align="flex-end" gap="xs" wrap="nowrap">
      <TextInput
        label={label}
        readOnly
        flex={1}
        value={value}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        onFocus={(event) => event.currentTarget.select()}
      />
      <CopyButton text={value} variant="filled" size="sm" />
    </Group>
  );
}
