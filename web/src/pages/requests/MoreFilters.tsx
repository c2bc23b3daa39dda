import { Button, Group, Popover, SegmentedControl, Select, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";

import { filterDefinitions } from "../../api/filters";
import { Icon } from "../../components/Icon";
import { type FilterName, type Filters, filterLabels } from "../../lib/filters";

interface Props {
  filters: Filters;
  onChange: (change: Filters) => void;
}

/** The filter presets of the API. */
export const presets = [
  { value: "errors", label: "Errors" },
  { value: "fallbacks", label: "Fallbacks" },
  { value: "policy", label: "Policy-controlled" },
  { value: "expensive", label: "Most expensive" },
  { value: "slowest", label: "Slowest" },
  { value: "negative_savings", label: "Negative savings" },
  { value: "unpriced", label: "Unpriced" },
];

/** Selects a preset. */
export function PresetSelect({ filters, onChange }: Props) {
  return (
    <Select
      size="xs"
      w={150}
      aria-label="Preset"
      placeholder="Preset"
      clearable
      data={presets}
      value={filters.preset ?? null}
      onChange={(value) => onChange({ preset: value ?? undefined })}
    />
  );
}

/** Lists without their own control in the filter bar. */
const textFields = filterDefinitions.filter(({ list, example }) => list && example !== "");

const bounds: { label: string; min: FilterName; max: FilterName; unit: string }[] = [
  { label: "Cost", min: "min_cost", max: "max_cost", unit: "USD" },
  { label: "Latency", min: "min_latency", max: "max_latency", unit: "ms or 2s" },
  { label: "Saved", min: "min_saved", max: "max_saved", unit: "USD" },
];

/** Filters with text input. */
export function MoreFilters({ filters, onChange }: Props) {
  const [opened, setOpened] = useState(false);
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" shadow="md" trapFocus>
      <Popover.Target>
        <Button
          variant="default"
          size="xs"
          rightSection={<Icon name="chevronDown" size={12} />}
          onClick={() => setOpened(!opened)}
        >
          More filters
        </Button>
      </Popover.Target>
      <Popover.Dropdown p="sm" w={330} maw="92vw">
        {opened && (
          <Fields
            initial={filters}
            onApply={(change) => {
              setOpened(false);
              onChange(change);
            }}
          />
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

function Fields({ initial, onApply }: { initial: Filters; onApply: (change: Filters) => void }) {
  const [draft, setDraft] = useState(initial);
  const set = (name: FilterName, value: string) => setDraft({ ...draft, [name]: value.trim() || undefined });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onApply(draft);
      }}
    >
      <Stack gap={8}>
        {textFields.map(({ name, example }) => (
          <TextInput
            key={name}
            size="xs"
            label={filterLabels[name]}
            labelProps={{ tt: "capitalize" }}
            placeholder={example}
            defaultValue={draft[name] ?? ""}
            onChange={(event) => set(name, event.currentTarget.value)}
          />
        ))}
        {bounds.map(({ label, min, max, unit }) => (
          <Group key={label} grow align="flex-end">
            <TextInput
              size="xs"
              label={`Min ${label.toLowerCase()}`}
              placeholder={unit}
              defaultValue={draft[min] ?? ""}
              onChange={(event) => set(min, event.currentTarget.value)}
            />
            <TextInput
              size="xs"
              label={`Max ${label.toLowerCase()}`}
              placeholder={unit}
              defaultValue={draft[max] ?? ""}
              onChange={(event) => set(max, event.currentTarget.value)}
            />
          </Group>
        ))}
        <Choice label="Streamed" name="stream" draft={draft} onChange={set} />
        <Choice label="Simulated" name="simulated" draft={draft} onChange={set} />
        <Choice label="Source" name="source" options={sources} draft={draft} onChange={set} />
        <Group justify="flex-end">
          <Button size="xs" type="submit">
            Apply
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

const yesOrNo = [
  { value: "", label: "All" },
  { value: "true", label: "Yes" },
  { value: "false", label: "No" },
];

const sources = [
  { value: "", label: "All" },
  { value: "key", label: "API key" },
  { value: "playground", label: "Playground" },
];

interface ChoiceProps {
  label: string;
  options?: { value: string; label: string }[];
  name: FilterName;
  draft: Filters;
  onChange: (name: FilterName, value: string) => void;
}

function Choice({ label, name, options = yesOrNo, draft, onChange }: ChoiceProps) {
  return (
    <Group justify="space-between">
      <Text size="xs" fw={500}>
        {label}
      </Text>
      <SegmentedControl
        size="xs"
        aria-label={label}
        data={options}
        value={draft[name] ?? ""}
        onChange={(value) => onChange(name, value)}
      />
    </Group>
  );
}
