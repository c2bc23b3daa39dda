import { Button, Group, Menu, Stack, Text, Textarea, TextInput } from "@mantine/core";

import type { Schema } from "../../api/client";
import type { Policy } from "../../api/routing";
import { Icon } from "../../components/Icon";
import { ConditionField } from "./ConditionField";
import { EffectField } from "./EffectField";
import { effects, effectsOf, withEffect, withoutEffect } from "./effects";

interface Props {
  policy: Policy;
  policySet: Pick<Schema["PolicyBook"], "fields" | "names">;
  /** Validation messages by field. */
  problems: Record<string, string>;
  onChange: (policy: Policy) => void;
}

/** The fields of one policy. Only its active effects are shown. */
export function PolicyForm({ policy, policySet, problems, onChange }: Props) {
  const has = effectsOf(policy);
  const denies = has.includes("deny"); // deny cannot be combined with other effects
  const rest = effects.filter(
    ({ name }) => !has.includes(name) && !(denies || (name === "deny" && has.length > 0)),
  );
  return (
    <Stack gap="sm">
      <TextInput
        size="xs"
        label="Name"
        value={policy.name}
        maxLength={64}
        spellCheck={false}
        error={problems["name"]}
        onChange={(event) => onChange({ ...policy, name: event.currentTarget.value })}
      />
      <Textarea
        size="xs"
        label="Description"
        placeholder="Purpose of this policy"
        autosize
        minRows={1}
        maxRows={4}
        maxLength={1000}
        value={policy.description ?? ""}
        error={problems["description"]}
        onChange={(event) => onChange({ ...policy, description: event.currentTarget.value || undefined })}
      />
      <ConditionField
        when={policy.when ?? ""}
        fields={policySet.fields}
        error={problems["when"]}
        onChange={(when) => onChange({ ...policy, when: when || undefined })}
      />
      {has.map((effect) => (
        <EffectField
          key={effect}
          effect={effect}
          policy={policy}
          names={policySet.names}
          error={problems[effect]}
          onChange={onChange}
          onRemove={() => onChange(withoutEffect(policy, effect))}
        />
      ))}
      {problems[""] && (
        <Text size="xs" c="red" role="alert">
          {problems[""]}
        </Text>
      )}
      <Group gap="xs">
        <Menu position="bottom-start">
          <Menu.Target>
            <Button
              size="xs"
              variant="default"
              leftSection={<Icon name="plus" size={14} />}
              disabled={rest.length === 0}
            >
              Add effect
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {rest.map(({ name, label }) => (
              <Menu.Item key={name} onClick={() => onChange(withEffect(policy, name))}>
                {label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
        {denies && (
          <Text size="xs" c="dimmed">
            Deny cannot be combined with other effects.
          </Text>
        )}
      </Group>
    </Stack>
  );
}
