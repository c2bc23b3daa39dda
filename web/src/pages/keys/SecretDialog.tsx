import { Alert, Anchor, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import type { Schema } from "../../api/client";
import { sendTestRequest, type TestResult } from "../../api/testRequest";
import { CodeBlock } from "../../components/CodeBlock";
import { CopyField } from "../../components/CopyField";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { formatMoney } from "../../lib/money";
import { formatDuration } from "../../lib/numbers";
import { baseUrlOf, exampleBody, snippet } from "../../lib/snippets";
import { useSession } from "../../lib/session";
import { PageLink } from "../../components/PageLink";

interface Props {
  created: Schema["NewKey"] | undefined;
  onClose: () => void;
}

/**
 * Shows a new key once. Escape and outside clicks do nothing, because the key cannot be shown again. Only the button
 * closes the dialog.
 */
export function SecretDialog({ created, onClose }: Props) {
  return (
    <Modal
      opened={created !== undefined}
      onClose={() => undefined}
      closeOnEscape={false}
      closeOnClickOutside={false}
      withCloseButton={false}
      size="lg"
      title={created && `API key “${created.name}”`}
    >
      {created && <Secret created={created} onClose={onClose} />}
    </Modal>
  );
}

function Secret({ created, onClose }: { created: Schema["NewKey"]; onClose: () => void }) {
  const { server } = useSession();
  const curl = snippet("curl", {
    baseUrl: baseUrlOf(server.public_url),
    key: created.secret,
    endpoint: "chat/completions",
    body: exampleBody,
  });
  const test = useMutation({ mutationFn: () => sendTestRequest(created.secret) });
  return (
    <Stack gap="sm">
      <Alert variant="outline" color="yellow" icon={<Icon name="alert" />}>
        Copy the key now. It won’t be shown again. Store it as a secret on your servers, never in a web page
        or a repository.
      </Alert>
      <CopyField label="API key" value={created.secret} />
      <CodeBlock text={curl} />
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<Icon name="play" size={14} />}
          loading={test.isPending}
          onClick={() => test.mutate()}
        >
          Send test request
        </Button>
        <Text size="xs" c="dimmed">
          Sends the request above with the new key.
        </Text>
      </Group>
      <div aria-live="polite">
        {test.error && (
          <ErrorPanel what="Test request failed" error={test.error} onRetry={() => test.mutate()} />
        )}
        {test.data && <TestSuccess result={test.data} />}
      </div>
      <Group justify="flex-end">
        <Button onClick={onClose}>I have stored the key</Button>
      </Group>
    </Stack>
  );
}

function TestSuccess({ result }: { result: TestResult }) {
  return (
    <Alert variant="outline" color="green" icon={<Icon name="check" />} title="Test request succeeded">
      <Text size="sm">{result.text}</Text>
      <Text size="xs" c="dimmed" mt={4}>
        {result.model} on {result.provider} · {formatDuration(result.ms)} · {formatMoney(result.cost)} ·{" "}
        <Anchor component={PageLink} inherit to="/requests/$id" params={{ id: result.id }} target="_blank">
          {result.id}
        </Anchor>
      </Text>
    </Alert>
  );
}
