import { Alert, Button, Code, Group, Stack } from "@mantine/core";

import { CopyButton } from "../../components/CopyButton";

/** Shows the recovery codes once. */
export function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  return (
    <Stack gap="sm" maw={420}>
      <Alert color="yellow" title="Save these recovery codes">
        They won’t be shown again. If you lose your authenticator app or passkey, sign in with your password
        and one of these codes. Each code works once.
      </Alert>
      <Code block>{codes.join("\n")}</Code>
      <Group gap="xs">
        <CopyButton text={codes.join("\n")} label="Copy codes" size="sm" />
        <Button onClick={onDone}>I saved the codes</Button>
      </Group>
    </Stack>
  );
}
