import {
  Alert,
  Anchor,
  Button,
  Checkbox,
  Collapse,
  Group,
  PasswordInput,
  Select,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useState } from "react";

import { asApiError } from "../../api/errors";
import { Icon } from "../../components/Icon";
import { useSession } from "../../lib/session";
import {
  type ConnectDraft,
  customVendor,
  type Format,
  formats,
  isComplete,
  isLoopback,
  type Vendor,
} from "./connect";

interface Props {
  vendor: Vendor;
  draft: ConnectDraft;
  pending: boolean;
  error: unknown;
  onChange: (draft: ConnectDraft) => void;
  onSubmit: (test: boolean) => void;
  onBack: () => void;
}

/** The key and the settings of a provider to connect. */
export function ConnectForm({ vendor, draft, pending, error, onChange, onSubmit, onBack }: Props) {
  const failure = error ? asApiError(error) : undefined;
  const problems = failure?.problems ?? {};
  const custom = vendor.name === customVendor;
  const { may } = useSession();
  const [more, setMore] = useState(false);
  const hidden = !custom && !vendor.needs_base_url;
  const complete = isComplete(vendor, draft);
  const baseUrl = (
    <TextInput
      label="Base URL"
      description={
        vendor.needs_base_url
          ? "Include the version, such as /v1. Addresses in private networks must be allowed in the configuration."
          : `Leave empty for ${vendor.base_url ?? "the default"}.`
      }
      placeholder={vendor.base_url ?? undefined}
      required={vendor.needs_base_url}
      withAsterisk={false}
      value={draft.baseUrl}
      onChange={(event) => onChange({ ...draft, baseUrl: event.currentTarget.value })}
      error={Boolean(problems["base_url"])}
      autoComplete="off"
      spellCheck={false}
    />
  );
  const name = (
    <TextInput
      label="Name"
      description="Lower-case letters, digits, dots, dashes and underscores. Requests and policies use this name."
      placeholder={custom ? "my-server" : undefined}
      required
      withAsterisk={false}
      maxLength={64}
      value={draft.name}
      onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      error={Boolean(problems["name"])}
      autoComplete="off"
      spellCheck={false}
    />
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (complete) {
          onSubmit(true);
        }
      }}
    >
      <Stack gap="sm">
        <Group justify="space-between">
          <Text fw={600}>{vendor.label}</Text>
          {vendor.key_url && (
            <Anchor href={vendor.key_url} target="_blank" rel="noreferrer" size="sm">
              Get a key <Icon name="external" size={12} />
            </Anchor>
          )}
        </Group>
        {custom && name}
        {vendor.needs_base_url && baseUrl}
        {isLoopback(draft.baseUrl) && may("manage_instance") && (
          <Checkbox
            label="Allow this address on this machine"
            description="For this provider only."
            checked={draft.allowLoopback}
            onChange={(event) => onChange({ ...draft, allowLoopback: event.currentTarget.checked })}
          />
        )}
        {vendor.fields.map((field) => (
          <TextInput
            key={field.name}
            label={field.label}
            placeholder={field.example}
            required={field.required}
            withAsterisk={false}
            description={field.required ? undefined : "Optional"}
            value={draft.options[field.name] ?? ""}
            onChange={(event) =>
              onChange({ ...draft, options: { ...draft.options, [field.name]: event.currentTarget.value } })
            }
            error={Boolean(problems[`options.${field.name}`])}
            autoComplete="off"
          />
        ))}
        <PasswordInput
          label="API key"
          description="Stored encrypted, sent only to this provider and never shown again."
          placeholder={vendor.key_hint ?? undefined}
          required={vendor.needs_key}
          withAsterisk={false}
          value={draft.key}
          onChange={(event) => onChange({ ...draft, key: event.currentTarget.value })}
          error={Boolean(problems["key"])}
          autoComplete="off"
          spellCheck={false}
          visibilityToggleButtonProps={{ "aria-label": "Show key" }}
          data-autofocus={!custom && !vendor.needs_base_url ? true : undefined}
        />
        {custom && (
          <>
            <Select
              label="API format"
              data={formats}
              allowDeselect={false}
              value={draft.format}
              onChange={(value) => value && onChange({ ...draft, format: value as Format })}
            />
            <Checkbox
              label="Models on this server are free"
              checked={draft.free}
              onChange={(event) => onChange({ ...draft, free: event.currentTarget.checked })}
            />
          </>
        )}
        {!custom && (
          <>
            <Anchor
              component="button"
              type="button"
              size="sm"
              ta="left"
              onClick={() => setMore(!more)}
              aria-expanded={more}
            >
              {hidden ? "Base URL and name" : "Name"}{" "}
              <Icon name={more ? "chevronUp" : "chevronDown"} size={12} />
            </Anchor>
            <Collapse expanded={more || Boolean(problems["name"] ?? (hidden && problems["base_url"]))}>
              <Stack gap="sm">
                {hidden && baseUrl}
                {name}
              </Stack>
            </Collapse>
          </>
        )}
        {failure && (
          <Alert color="red" variant="outline" role="alert" icon={<Icon name="alert" size={18} />}>
            <Text size="sm" style={{ overflowWrap: "anywhere" }}>
              {failure.message}
            </Text>
            {failure.details["test_failed"] === true && (
              <Button
                size="compact-xs"
                variant="default"
                mt="xs"
                disabled={pending}
                onClick={() => onSubmit(false)}
              >
                Connect without testing
              </Button>
            )}
          </Alert>
        )}
        <Group justify="space-between">
          <Button
            variant="default"
            leftSection={<Icon name="chevronLeft" size={14} />}
            disabled={pending}
            onClick={onBack}
          >
            All providers
          </Button>
          <Button type="submit" loading={pending} disabled={!complete}>
            Test and connect
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
