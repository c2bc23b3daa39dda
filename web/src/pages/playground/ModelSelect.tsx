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

/** Chooses auto with its objective, or one model. */
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
        { group: "The router chooses", items: automatic },
        { group: "One model", items: known ? names : [value, ...names] },
      ]}
      value={value}
      onChange={(model) => model && onChange(model)}
    />
  );
}

/** The models that answer chats and have somebody to serve them. */
export function chatModels(models: Schema["ModelView"][] | undefined): Schema["ModelView"][] {
  return (models ?? []).filter((model) => model.kind === "chat" && model.targets.length > 0);
}
