import { Select } from "@mantine/core";

import type { Schema } from "../../api/client";

interface Props {
  models: Schema["ModelView"][] | undefined;
  value: string;
  onChange: (model: string) => void;
  label: string;
}

const automatic = [
  { value: "auto", label: "auto – balanced" },
  { value: "auto:cost", label: "auto:cost – cheapest" },
  { value: "auto:quality", label: "auto:quality – best" },
  { value: "auto:speed", label: "auto:speed – fastest" },
];

/** Selects auto with an objective, or a single model. */
export function ModelSelect({ models, value, onChange, label }: Props) {
  const names = chatModels(models).map((model) => model.name);
  const known = names.includes(value) || automatic.some((item) => item.value === value);
  return (
    <Select
      size="xs"
      aria-label={label}
      searchable
      allowDeselect={false}
      maxDropdownHeight={320}
      data={[
        { group: "Router", items: automatic },
        { group: "Models", items: known ? names : [value, ...names] },
      ]}
      value={value}
      onChange={(model) => model && onChange(model)}
    />
  );
}

/** The chat models with at least one target. */
export function chatModels(models: Schema["ModelView"][] | undefined): Schema["ModelView"][] {
  return (models ?? []).filter((model) => model.kind === "chat" && model.targets.length > 0);
}
