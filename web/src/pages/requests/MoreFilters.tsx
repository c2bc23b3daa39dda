import {
  Button,
  Group,
  MultiSelect,
  Popover,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { filterDefinitions } from "../../api/filters";
import type { FacetName } from "../../components/FilterBar";
import { Icon } from "../../components/Icon";
import { type FilterName, type Filters, filterLabels, joinList, splitList } from "../../lib/filters";
import { useSession } from "../../lib/session";

interface Props {
  filters: Filters;
  facets?: Schema["Facets"];
  onChange: (change: Filters) => void;
}

/** The facets that are not in the filter bar. */
const facetFields: FacetName[] = ["decision", "provider", "policy"];

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

/** Lists without their own control in the filter bar. */
const textFields = filterDefinitions.filter(({ list, example }) => list && example !== "");

const bounds: { label: string; min: FilterName; max: FilterName; unit: string }[] = [
  { label: "Cost", min: "min_cost", max: "max_cost", unit: "USD" },
  { label: "Latency", min: "min_latency", max: "max_latency", unit: "ms or 2s" },
  { label: "Saved", min: "min_saved", max: "max_saved", unit: "USD" },
];

/** The filters that are not in the filter bar. */
export function MoreFilters({ filters, facets, onChange }: Props) {
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
      <Popover.Dropdown p="sm" w={640} maw="92vw" mah="75vh" style={{ overflowY: "auto" }}>
        {opened && (
          <Fields
            initial={filters}
            facets={facets}
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

interface FieldsProps {
  initial: Filters;
  facets?: Schema["Facets"];
  onApply: (change: Filters) => void;
}

function Fields({ initial, facets, onApply }: FieldsProps) {
  const [draft, setDraft] = useState(initial);
  const { may } = useSession();
  const set = (name: FilterName, value: string) => setDraft({ ...draft, [name]: value.trim() || undefined });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onApply(draft);
      }}
    >
      <Stack gap={8}>
        {may("read_bodies") && (
          <TextInput
            size="xs"
            label="Request and response text"
            placeholder="connection reset"
            maxLength={256}
            defaultValue={draft.text ?? ""}
            onChange={(event) => set("text", event.currentTarget.value)}
          />
        )}
        <SimpleGrid cols={{ base: 1, xs: 3 }} spacing={8}>
          {facetFields.map((name) => (
            <FacetField key={name} name={name} facets={facets} draft={draft} onChange={set} />
          ))}
          {textFields.map(({ name, example }) => (
            <TextInput
              key={name}
              size="xs"
              label={sentence(filterLabels[name])}
              placeholder={example}
              defaultValue={draft[name] ?? ""}
              onChange={(event) => set(name, event.currentTarget.value)}
            />
          ))}
        </SimpleGrid>
        <SimpleGrid cols={{ base: 1, xs: 3 }} spacing={8}>
          {bounds.map(({ label, min, max, unit }) => (
            <Group key={label} grow align="flex-end" gap={6}>
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
        </SimpleGrid>
        <Group justify="flex-end">
          <Button size="xs" type="submit">
            Apply
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface FacetProps {
  name: FacetName;
  facets?: Schema["Facets"];
  draft: Filters;
  onChange: (name: FilterName, value: string) => void;
}

function FacetField({ name, facets, draft, onChange }: FacetProps) {
  const chosen = splitList(draft[name]);
  const known = facets?.[name] ?? [];
  const missing = chosen.filter((value) => !known.some((facet) => facet.value === value));
  return (
    <MultiSelect
      size="xs"
      label={sentence(filterLabels[name])}
      placeholder={chosen.length > 0 ? undefined : "All"}
      data={[
        ...known.map(({ value, label }) => ({ value, label })),
        ...missing.map((value) => ({ value, label: value })),
      ]}
      value={chosen}
      onChange={(values) => onChange(name, joinList(values) ?? "")}
      comboboxProps={{ withinPortal: false }}
    />
  );
}

const yesOrNo = [
  { value: "", label: "All" },
  { value: "true", label: "Yes" },
  { value: "false", label: "No" },
];

const sources = [
  { value: "", label: "All" },
  { value: "key", label: "Key" },
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
    <Stack gap={2}>
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
    </Stack>
  );
}

function sentence(label: string): string {
  return label.charAt(0).toUpperCase() + label.slice(1);
}
