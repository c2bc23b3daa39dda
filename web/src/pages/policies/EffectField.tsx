import {
  ActionIcon,
  Autocomplete,
  Checkbox,
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

/** The fields of one effect, with a button to remove it. */
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
  const common = { size: "xs", label, error } as const;
  const targets = [...names.models, ...names.targets];
  switch (effect) {
    case "deny":
      return (
        <Textarea
          {...common}
          description="Message to the client"
          autosize
          maxLength={500}
          value={policy.deny ?? ""}
          onChange={(event) => set({ deny: event.currentTarget.value })}
        />
      );
    case "pin":
      return (
        <Autocomplete
          {...common}
          description="A model, or provider/model"
          data={targets}
          limit={50}
          value={policy.pin ?? ""}
          onChange={(pin) => set({ pin })}
        />
      );
    case "baseline":
      return (
        <Autocomplete
          {...common}
          description="Savings are measured against this model."
          data={names.models}
          limit={50}
          value={policy.baseline ?? ""}
          onChange={(baseline) => set({ baseline })}
        />
      );
    case "prefer":
      return (
        <TagsInput
          {...common}
          description="In order of preference. Wildcards are allowed: gpt-4.1*"
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
              ? "Allows only targets that match every list you fill in."
              : "Excludes targets that match any list."
          }
          error={error}
          names={names}
          selector={policy[effect] ?? {}}
          onChange={(selector) => set({ [effect]: selector })}
        />
      );
    case "objective":
      return (
        <Objective {...common} value={policy.objective ?? ""} onChange={(objective) => set({ objective })} />
      );
    case "max_cost_usd":
      return (
        <TextInput
          {...common}
          description="Excludes models with a higher expected cost, in USD."
          leftSection="$"
          inputMode="decimal"
          value={policy.max_cost_usd ?? ""}
          error={error ?? (isAmount(policy.max_cost_usd) ? undefined : "Enter an amount, such as 0.05.")}
          onChange={(event) => set({ max_cost_usd: event.currentTarget.value })}
        />
      );
    case "max_output_tokens":
      return (
        <NumberInput
          {...common}
          description="Maximum output tokens, even if the request allows more."
          min={1}
          allowDecimal={false}
          thousandSeparator=","
          value={policy.max_output_tokens ?? ""}
          onChange={(value) => set({ max_output_tokens: typeof value === "number" ? value : 1 })}
        />
      );
    case "max_escalation":
      return (
        <NumberInput
          {...common}
          description="Maximum number of steps towards stronger models for a stuck task. 0 disables escalation."
          min={0}
          max={3}
          allowDecimal={false}
          value={policy.max_escalation ?? ""}
          onChange={(value) => set({ max_escalation: typeof value === "number" ? value : 0 })}
        />
      );
    case "session_budget":
      return (
        <SessionBudget
          label={label}
          error={error}
          budget={policy.session_budget ?? { amount_usd: "" }}
          onChange={(session_budget) => set({ session_budget })}
        />
      );
    case "response_cache":
      return (
        <Autocomplete
          {...common}
          description="Maximum age of a cached response, such as 10m or 24h. off disables the response cache."
          data={["10m", "1h", "24h", "off"]}
          value={policy.response_cache ?? ""}
          onChange={(response_cache) => set({ response_cache })}
        />
      );
    case "cache_marks":
    case "log_bodies":
      return (
        <div>
          <Text size="xs" fw={500}>
            {label}
          </Text>
          <Text size="xs" c="dimmed">
            {effect === "cache_marks"
              ? "Fairlead does not add cache markers (such as cache_control) or cache keys to requests."
              : "Prompts and responses are not stored."}
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

interface SessionBudgetProps {
  label: string;
  error?: string;
  budget: Schema["SessionLimit"];
  onChange: (budget: Schema["SessionLimit"]) => void;
}

/** The budget of each session: the amount, and what happens before it is used up. */
function SessionBudget({ label, error, budget, onChange }: SessionBudgetProps) {
  return (
    <div>
      <TextInput
        size="xs"
        label={label}
        description="Budget per session in USD. Requests that would exceed it are rejected."
        leftSection="$"
        inputMode="decimal"
        value={budget.amount_usd}
        error={error ?? (isAmount(budget.amount_usd) ? undefined : "Enter an amount, such as 5.")}
        onChange={(event) => onChange({ ...budget, amount_usd: event.currentTarget.value })}
      />
      <Checkbox
        size="xs"
        mt="xs"
        label="Switch to auto:cost when the budget is nearly used up"
        checked={budget.downgrade === true}
        onChange={(event) => onChange({ ...budget, downgrade: event.currentTarget.checked })}
      />
      {budget.downgrade === true && (
        <NumberInput
          size="xs"
          mt="xs"
          label="Switch at (% of the budget spent)"
          min={1}
          max={99}
          allowDecimal={false}
          value={budget.warn_percent ?? 80}
          onChange={(value) => onChange({ ...budget, warn_percent: typeof value === "number" ? value : 80 })}
        />
      )}
    </div>
  );
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

const objectives = [
  { value: "cost", label: "Lowest cost" },
  { value: "quality", label: "Best quality" },
  { value: "speed", label: "Lowest latency" },
  { value: "number", label: "Custom trade-off" },
];

interface ObjectiveProps {
  size: "xs";
  label: string;
  error?: string;
  value: string;
  onChange: (value: string) => void;
}

function Objective({ value, onChange, error, ...common }: ObjectiveProps) {
  const named = objectives.some((objective) => objective.value === value);
  return (
    <Group gap={6} align="flex-end">
      <Select
        {...common}
        flex={1}
        data={objectives}
        allowDeselect={false}
        value={named ? value : "number"}
        error={error}
        onChange={(next) => onChange(next === "number" ? "0.5" : (next ?? "cost"))}
      />
      {!named && (
        <NumberInput
          size="xs"
          w={110}
          aria-label="Trade-off from 0 (cheapest) to 1 (best)"
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
