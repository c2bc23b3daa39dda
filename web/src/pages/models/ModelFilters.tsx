import { Button, Group, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useRef } from "react";

import { Icon } from "../../components/Icon";
import type { Search } from "../../lib/filters";
import { useShortcuts } from "../../lib/keyboard";
import { formatCount } from "../../lib/numbers";
import { abilityText, type Choice, kinds, type Model, shows, valuesOf } from "./models";

interface Props {
  models: Model[];
  choice: Choice;
  onChange: (change: Search) => void;
}

/** Filters of the model list, kept in the URL. */
export function ModelFilters({ models, choice, onChange }: Props) {
  const field = useRef<HTMLInputElement>(null);
  useShortcuts([{ keys: "/", label: "Search models", run: () => field.current?.focus() }]);
  const ofKind = models.filter((m) => m.kind === choice.kind);
  const filtered = choice.q !== "" || choice.provider || choice.ability || choice.show;
  return (
    <Group gap="xs" mb="sm" role="search" aria-label="Models">
      <SegmentedControl
        size="xs"
        aria-label="Kind"
        value={choice.kind}
        onChange={(kind) => onChange({ kind: kind === "chat" ? undefined : kind, ability: undefined })}
        data={kinds.map(({ value, label }) => ({
          value,
          label: `${label} ${formatCount(models.filter((m) => m.kind === value).length)}`,
        }))}
      />
      <TextInput
        ref={field}
        size="xs"
        type="search"
        aria-label="Search models"
        placeholder="Name, vendor or provider"
        leftSection={<Icon name="search" size={14} />}
        value={choice.q}
        onChange={(event) => onChange({ q: event.currentTarget.value || undefined })}
        flex="1 1 220px"
        maw={{ sm: 320 }}
      />
      <Picker
        label="Provider"
        value={choice.provider}
        data={valuesOf(ofKind, (m) => m.targets.map((t) => t.provider)).map((value) => ({
          value,
          label: value,
        }))}
        onChange={(provider) => onChange({ provider })}
      />
      <Picker
        label="Capability"
        value={choice.ability}
        data={valuesOf(ofKind, (m) => m.abilities).map((value) => ({ value, label: abilityText(value) }))}
        onChange={(ability) => onChange({ ability })}
      />
      <Picker label="Show" value={choice.show} data={[...shows]} onChange={(show) => onChange({ show })} />
      {filtered && (
        <Button
          variant="subtle"
          size="compact-xs"
          onClick={() => onChange({ q: undefined, provider: undefined, ability: undefined, show: undefined })}
        >
          Clear filters
        </Button>
      )}
    </Group>
  );
}

interface PickerProps {
  label: string;
  value: string | undefined;
  data: { value: string; label: string }[];
  onChange: (value: string | undefined) => void;
}

function Picker({ label, value, data, onChange }: PickerProps) {
  return (
    <Select
      size="xs"
      flex="0 1 160px"
      miw={{ base: "calc(50% - 8px)", sm: 0 }}
      aria-label={label}
      placeholder={`${label}: all`}
      value={value ?? null}
      data={data}
      clearable
      clearButtonProps={{ "aria-label": `Clear ${label}` }}
      onChange={(chosen) => onChange(chosen ?? undefined)}
    />
  );
}
