import { Modal, Stack, Text } from "@mantine/core";

import { Snippets } from "../../components/Snippets";
import { baseUrlOf } from "../../lib/snippets";

interface Props {
  /** The request body; undefined while closed. */
  body: object | undefined;
  publicUrl: string;
  onClose: () => void;
}

/** Shows the request as code that uses an API key. */
export function CodeDialog({ body, publicUrl, onClose }: Props) {
  return (
    <Modal opened={body !== undefined} onClose={onClose} title="Code for this request" size="xl">
      {body && (
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            Set an API key in $FAIRLEAD_API_KEY to run this code.
          </Text>
          <Snippets call={{ baseUrl: baseUrlOf(publicUrl), endpoint: "chat/completions", body }} />
        </Stack>
      )}
    </Modal>
  );
}
