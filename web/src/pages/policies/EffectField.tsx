import {
  ActionIcon,
  Autocomplete,
  Group,
  NumberInput,
  Select,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import type { ReactNode } from "react";

import type { Schema } from "../../api/client";
import type { Policy } from "../../api/routing";
import { Icon } from "../../components/Icon";
import { isAmount } from "./draft";
import { type Effect, effects } from "./effects";

interface Props {
  effect: Effect;
  policy: Policy;
  names: Schema["PolicyNames"];
  error?: string;
  onChange: (policy: Policy) => void;
  onRemove: () => void;
}

/** The fields of one effect, with a button that takes it away. */
export function EffectField(props: Props) {
  const label = effects.find(({ name }) => name === props.effect)?.label ?? props.effect;
  return (
    <Group gap={4} wrap="nowrap" align="flex-start">
      <Stack gap={4} flex={1} miw={0}>
        {field({ ...props, label })}
      </Stack>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="sm"
        mt={20}
        aria-label={`Remove: ${label}`}
        onClick={props.onRemove}
      >
        <Icon name="x" size={14} />
      </ActionIcon>
    </Group>
  );
}

function field({ effect, policy, names, error, onChange, label }: Props & { label: string }): ReactNode {
  const set = (change: Partial<Policy>) => onChange({ ...policy, ...change });
  const usual = { size: "xs", label, error } as const;
  const targets = [...names.models, ...names.targets];
  switch (effect) {
    case "deny":
      return (
        <Textarea
          {...usual}
          description="What the caller is told."
          autosize
          maxLength={500}
          value={policy.deny ?? ""}
          onChange={(event) => set({ deny: event.currentTarget.value })}
        />
      );
    case "pin":
      return (
        <Autocomplete
          {...usual}
          description="A model, or provider/model."
          data={targets}
          limit={50}
          value={policy.pin ?? ""}
          onChange={(pin) => set({ pin })}
        />
      );
    case "baseline":
      return (
        <Autocomplete
          {...usual}
          description="The model that savings are measured against."
          data={names.models}
          limit={50}
          value={policy.baseline ?? ""}
          onChange={(baseline) => set({ baseline })}
        />
      );
    case "prefer":
      return (
        <TagsInput
          {...usual}
          description="Best first. A name may end in a star."
          data={targets}
          limit={50}
          value={policy.prefer ?? []}
          onChange={(prefer) => set({ prefer })}
        />
      );
    case "allow":
    case "exclude":
      return (
        <Selector
          label={label}
          hint={
            effect === "allow"
              ? "A target must be in every list that is filled."
              : "A target that is in any of the lists is out."
          }
          error={error}
          names={names}
          selector={policy[effect] ?? {}}
          onChange={(selector) => set({ [effect]: selector })}
        />
      );
    case "objective":
      return (
        <Objective {...usual} value={policy.objective ?? ""} onChange={(objective) => set({ objective })} />
      );
    case "max_cost_usd":
      return (
        <TextInput
          {...usual}
          description="In dollars: models that are expected to cost more are left out."
          leftSection="$"
          inputMode="decimal"
          value={policy.max_cost_usd ?? ""}
          error={error ?? (isAmount(policy.max_cost_usd) ? undefined : "An amount such as 0.05.")}
          onChange={(event) => set({ max_cost_usd: event.currentTarget.value })}
        />
      );
    case "max_output_tokens":
      return (
        <NumberInput
          {...usual}
          description="In tokens, also where the caller allows more."
          min={1}
          allowDecimal={false}
          thousandSeparator=","
          value={policy.max_output_tokens ?? ""}
          onChange={(value) => set({ max_output_tokens: typeof value === "number" ? value : 1 })}
        />
      );
    case "log_bodies":
      return (
        <div>
          <Text size="xs" fw={500}>
            {label}
          </Text>
          <Text size="xs" c="dimmed">
            Request and answer are not stored.
          </Text>
          {error && (
            <Text size="xs" c="red">
              {error}
            </Text>
          )}
        </div>
      );
  }
}

interface SelectorProps {
  label: string;
  hint: string;
  error?: string;
  names: Schema["PolicyNames"];
  selector: Schema["Selector"];
  onChange: (selector: Schema["Selector"]) => void;
}

function Selector({ label, hint, error, names, selector, onChange }: SelectorProps) {
  const lists = [
    ["models", [...names.models, ...names.targets]],
    ["providers", names.providers],
    ["tags", names.tags],
  ] as const;
  return (
    <Stack gap={4} role="group" aria-label={label}>
      <div>
        <Text size="xs" fw={500}>
          {label}
        </Text>
        <Text size="xs" c="dimmed">
          {hint}
        </Text>
      </div>
      {lists.map(([kind, data]) => (
        <TagsInput
          key={kind}
          size="xs"
          aria-label={`${label}: ${kind}`}
          placeholder={(selector[kind] ?? []).length === 0 ? kind : undefined}
          data={[...data]}
          limit={50}
          value={selector[kind] ?? []}
          onChange={(values) => onChange({ ...selector, [kind]: values.length > 0 ? values : undefined })}
        />
      ))}
      {error && (
        <Text size="xs" c="red">
          {error}
        </Text>
      )}
    </Stack>
  );
}

const aims = [
  { value: "cost", label: "the lowest cost" },
  { value: "quality", label: "the best answer" },
  { value: "speed", label: "the fastest answer" },
  { value: "number", label: "a number" },
];

interface ObjectiveProps {
  size: "xs";
  label: string;
  error?: string;
  value: string;
  onChange: (value: string) => void;
}

function Objective({ value, onChange, error, ...usual }: ObjectiveProps) {
  const named = aims.some((aim) => aim.value === value);
  return (
    <Group gap={6} align="flex-end">
      <Select
        {...usual}
        flex={1}
        data={aims}
        allowDeselect={false}
        value={named ? value : "number"}
        error={error}
        onChange={(next) => onChange(next === "number" ? "0.5" : (next ?? "cost"))}
      />
      {!named && (
        <NumberInput
          size="xs"
          w={110}
          aria-label="From 0, cheapest, to 1, best"
          min={0}
          max={1}
          step={0.05}
          decimalScale={3}
          value={Number(value)}
          onChange={(next) => onChange(String(next))}
        />
      )}
    </Group>
  );
}
