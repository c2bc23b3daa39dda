import { Alert, Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { CopyField } from "../../components/CopyField";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { notifyDone } from "../../lib/notify";
import type { AlertChannel } from "./query";

type NewChannel = Schema["NewAlertChannel"];
type ChannelType = NewChannel["type"];

interface Props {
  opened: boolean;
  email: boolean;
  onClose: () => void;
  onCreated: (channel: NewChannel) => void;
}

/** Adds a channel. */
export function ChannelDialog({ opened, email, onClose, onCreated }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Add channel">
      {opened && <ChannelForm email={email} onClose={onClose} onCreated={onCreated} />}
    </Modal>
  );
}

function ChannelForm({ email, onClose, onCreated }: Omit<Props, "opened">) {
  const [type, setType] = useState<ChannelType>("webhook");
  const [name, setName] = useState("");
  const [address, setAddress] = useState("");
  return (
    <ChannelFrame
      action="Add channel"
      failure="Could not add the channel"
      disabled={!name.trim() || !address.trim()}
      onClose={onClose}
      save={async () => {
        const body = { name, type, ...destination(type, address) };
        const channel = await must(api.POST("/alerts/channels", { body }));
        notifyDone("Channel added.");
        onCreated(channel);
      }}
    >
      {(problems) => (
        <>
          <SegmentedControl
            aria-label="Type"
            fullWidth
            data={[
              { value: "webhook", label: "Webhook" },
              { value: "slack", label: "Slack" },
              ...(email ? [{ value: "email", label: "E-mail" }] : []),
            ]}
            value={type}
            onChange={(chosen) => setType(chosen as ChannelType)}
          />
          <Text size="sm" c="dimmed">
            {descriptions[type]}
          </Text>
          <NameField value={name} onChange={setName} error={problems["name"]} />
          <TextInput
            label={type === "email" ? "Recipients" : "URL"}
            placeholder={
              type === "email" ? "ops@example.com, lead@example.com" : "https://example.com/hooks/fairlead"
            }
            required
            autoComplete="off"
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value)}
            error={problems["url"] ?? problems["to"] ?? problems["type"]}
          />
        </>
      )}
    </ChannelFrame>
  );
}

/** The address of a channel in the format of the API. */
function destination(type: string, address: string) {
  return type === "email"
    ? { to: address.split(",").flatMap((one) => one.trim() || []) }
    : { url: address.trim() };
}

interface FrameProps {
  /** Text of the button that saves. */
  action: string;
  /** Heading of an error that belongs to no field. */
  failure: string;
  disabled: boolean;
  onClose: () => void;
  save: () => Promise<void>;
  /** The fields, with the errors that belong to them. */
  children: (problems: Record<string, string>) => ReactNode;
}

/** A form that saves a channel and loads the alerts again. */
function ChannelFrame({ action, failure, disabled, onClose, save: mutationFn, children }: FrameProps) {
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn,
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["alerts"] }),
  });
  const problems = save.error ? asApiError(save.error).problems : {};
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="sm">
        {children(problems)}
        {save.error && Object.keys(problems).length === 0 && <ErrorPanel what={failure} error={save.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending} disabled={disabled}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface NameProps {
  value: string;
  onChange: (name: string) => void;
  error: string | undefined;
}

function NameField({ value, onChange, error }: NameProps) {
  return (
    <TextInput
      label="Channel name"
      placeholder="ops"
      required
      maxLength={100}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}

interface EditProps {
  channel: AlertChannel | undefined;
  onClose: () => void;
}

/** Changes the name or the destination of a channel. */
export function EditChannelDialog({ channel, onClose }: EditProps) {
  return (
    <Modal opened={channel !== undefined} onClose={onClose} title={`Edit “${channel?.name ?? ""}”`}>
      {channel && <EditForm channel={channel} onClose={onClose} />}
    </Modal>
  );
}

function EditForm({ channel, onClose }: { channel: AlertChannel; onClose: () => void }) {
  const [name, setName] = useState(channel.name);
  const [address, setAddress] = useState("");
  return (
    <ChannelFrame
      action="Save"
      failure="Could not save the channel"
      disabled={!name.trim()}
      onClose={onClose}
      save={async () => {
        const params = { path: { id: channel.id } };
        const body = { name, ...(address.trim() && destination(channel.type, address)) };
        await must(api.PATCH("/alerts/channels/{id}", { params, body }));
        notifyDone("Channel saved.");
        onClose();
      }}
    >
      {(problems) => (
        <>
          <NameField value={name} onChange={setName} error={problems["name"]} />
          <TextInput
            label={channel.type === "email" ? "New recipients" : "New URL"}
            description={`Leave empty to keep the current destination: ${channel.target}`}
            autoComplete="off"
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value)}
            error={problems["url"] ?? problems["to"]}
          />
        </>
      )}
    </ChannelFrame>
  );
}

const descriptions: Record<ChannelType, string> = {
  webhook: "Sends signed JSON to a public https address. Failed deliveries are retried for about 80 minutes.",
  slack: "Posts messages to an incoming webhook of Slack, Mattermost or another compatible service.",
  email: "Sends e-mails through the mail server of this gateway. Separate up to 10 addresses with commas.",
};

/** Shows the signing key of a new webhook once. Only its button closes the dialog. */
export function SigningKeyDialog({
  created,
  onClose,
}: {
  created: NewChannel | undefined;
  onClose: () => void;
}) {
  return (
    <Modal
      opened={created !== undefined}
      onClose={() => undefined}
      closeOnEscape={false}
      closeOnClickOutside={false}
      withCloseButton={false}
      title={created && `Signing key for “${created.name}”`}
    >
      {created?.signing_key && (
        <Stack gap="sm">
          <Alert variant="outline" color="yellow" icon={<Icon name="alert" />}>
            Copy the key now. It won’t be shown again. Your endpoint needs it to verify the signature of each
            message.
          </Alert>
          <CopyField label="Signing key" value={created.signing_key} />
          <Group justify="flex-end">
            <Button onClick={onClose}>I have stored the key</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
