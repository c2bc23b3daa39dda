import { Modal, Stack, Text } from "@mantine/core";

import { Snippets } from "../../components/Snippets";
import { baseUrlOf } from "../../lib/snippets";

interface Props {
  /** The body to write; undefined while closed. */
  body: object | undefined;
  publicUrl: string;
  onClose: () => void;
}

/** The same request as code that a server can send with a key. */
export function CodeDialog({ body, publicUrl, onClose }: Props) {
  return (
    <Modal opened={body !== undefined} onClose={onClose} title="The same request as code" size="xl">
      {body && (
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            The playground uses your session; code needs an API key in $FAIRLEAD_API_KEY.
          </Text>
          <Snippets call={{ baseUrl: baseUrlOf(publicUrl), endpoint: "chat/completions", body }} />
        </Stack>
      )}
    </Modal>
  );
}
