import { Alert, Anchor, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import type { Schema } from "../../api/client";
import { sendTestRequest, type TestResult } from "../../api/testRequest";
import { CodeBlock } from "../../components/CodeBlock";
import { CopyButton } from "../../components/CopyButton";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { formatMoney } from "../../lib/money";
import { formatDuration } from "../../lib/numbers";
import { baseUrlOf, firstBody, snippet } from "../../lib/snippets";
import { useSession } from "../../lib/session";
import { PageLink } from "../../components/PageLink";

interface Props {
  created: Schema["NewKey"] | undefined;
  onClose: () => void;
}

/**
 * Shows a new key, this once. Escape and clicks outside do nothing: losing the key by a slip would cost a new one, so
 * only the button closes.
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
      title={created && `Key “${created.name}” is ready`}
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
    body: firstBody,
  });
  const test = useMutation({ mutationFn: () => sendTestRequest(created.secret) });
  return (
    <Stack gap="sm">
      <Alert variant="outline" color="yellow" icon={<Icon name="alert" />}>
        This is the only time the key is shown. Store it where your servers can read it, never in a web page
        or a repository.
      </Alert>
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <TextInput
          label="API key"
          readOnly
          flex={1}
          value={created.secret}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
          onFocus={(event) => event.currentTarget.select()}
        />
        <CopyButton text={created.secret} variant="filled" size="sm" />
      </Group>
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
          The same request, sent from here with the new key.
        </Text>
      </Group>
      <div aria-live="polite">
        {test.error && (
          <ErrorPanel what="The test request failed" error={test.error} onRetry={() => test.mutate()} />
        )}
        {test.data && <Answer result={test.data} />}
      </div>
      <Group justify="flex-end">
        <Button onClick={onClose}>I have stored the key</Button>
      </Group>
    </Stack>
  );
}

function Answer({ result }: { result: TestResult }) {
  return (
    <Alert variant="outline" color="green" icon={<Icon name="check" />} title="It works">
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
