import { Button, Menu } from "@mantine/core";

import { Icon } from "../../components/Icon";
import { presets } from "./MoreFilters";

interface Props {
  preset: string | undefined;
  onChange: (preset: string | undefined) => void;
}

/** The filter presets of the request list. */
export function PresetMenu({ preset, onChange }: Props) {
  const active = presets.find(({ value }) => value === preset);
  return (
    <Menu position="bottom-start" shadow="md" width={250}>
      <Menu.Target>
        <Button
          variant={active ? "outline" : "default"}
          size="xs"
          maw={200}
          leftSection={<Icon name="layers" size={14} />}
          rightSection={<Icon name="chevronDown" size={12} />}
        >
          {active?.label ?? "Presets"}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onChange(undefined)}>All requests</Menu.Item>
        {presets.map(({ value, label }) => (
          <Menu.Item key={value} onClick={() => onChange(value)}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
