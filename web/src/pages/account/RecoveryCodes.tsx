import { Alert, Button, Code, Group, Stack } from "@mantine/core";

import { CopyButton } from "../../components/CopyButton";

/** Shows the recovery codes once. */
export function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  return (
    <Stack gap="sm" maw={420}>
      <Alert color="yellow" title="Save these recovery codes">
        They are shown only now. With your password, each code signs you in once if you lose your
        authenticator app or passkey.
      </Alert>
      <Code block>{codes.join("\n")}</Code>
      <Group gap="xs">
        <CopyButton text={codes.join("\n")} label="Copy codes" size="sm" />
        <Button onClick={onDone}>I saved the codes</Button>
      </Group>
    </Stack>
  );
}
