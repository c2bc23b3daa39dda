import { ActionIcon, Button, Checkbox, Group, Menu, Popover, Stack, Tooltip } from "@mantine/core";

import { CopyButton } from "../../components/CopyButton";
import { Icon } from "../../components/Icon";
import { cliCommand, type Filters } from "../../lib/filters";
import { useDensity, useZone } from "../../lib/preferences";
import type { Range } from "../../lib/range";
import { stringifySearch } from "../../lib/search";
import { storedText } from "../../lib/stored";
import { zoneName } from "../../lib/time";
import { chosenColumns, defaultColumns, promptColumn, requestColumns } from "./columns";

/** Selects the columns and their order. */
export function ColumnPicker({ chosen, onChange }: { chosen: string[]; onChange: (ids: string[]) => void }) {
  const shown = chosenColumns(chosen);
  const rest = requestColumns.filter((column) => !shown.includes(column));
  const move = (id: string, step: number) => {
    const ids = shown.map((column) => column.id);
    const at = ids.indexOf(id);
    ids.splice(at, 1);
    ids.splice(Math.max(0, at + step), 0, id);
    onChange(ids);
  };
  return (
    <Popover position="bottom-end" shadow="md" trapFocus>
      <Popover.Target>
        <Tooltip label="Columns">
          <ActionIcon variant="default" size={30} aria-label="Columns">
            <Icon name="columns" />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown p="sm" mah="70vh" style={{ overflow: "auto" }}>
        <Stack gap={6}>
          {[...shown, ...rest].map((column) => (
            <Group key={column.id} justify="space-between" wrap="nowrap" gap="lg">
              <Checkbox
                size="xs"
                label={column.name ?? column.label}
                checked={shown.includes(column)}
                disabled={column.id === promptColumn}
                onChange={(event) =>
                  onChange(
                    event.currentTarget.checked
                      ? [...shown.map((c) => c.id), column.id]
                      : shown.filter((c) => c !== column).map((c) => c.id),
                  )
                }
              />
              {shown.includes(column) && (
                <Group gap={2} wrap="nowrap">
                  <ActionIcon
                    size="xs"
                    variant="subtle"
                    color="gray"
                    aria-label={`Move ${column.label} left`}
                    onClick={() => move(column.id, -1)}
                  >
                    <Icon name="chevronLeft" size={12} />
                  </ActionIcon>
                  <ActionIcon
                    size="xs"
                    variant="subtle"
                    color="gray"
                    aria-label={`Move ${column.label} right`}
                    onClick={() => move(column.id, 1)}
                  >
                    <Icon name="chevronRight" size={12} />
                  </ActionIcon>
                </Group>
              )}
            </Group>
          ))}
          <Button size="compact-xs" variant="subtle" onClick={() => onChange(defaultColumns)}>
            Reset columns
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

/** Switches between normal and compact rows. */
export function DensitySwitch() {
  const [density, setDensity] = useDensity();
  const next = density === "compact" ? "normal" : "compact";
  return (
    <Tooltip label={next === "compact" ? "Compact rows" : "Normal rows"}>
      <ActionIcon
        variant="default"
        size={30}
        aria-label={next === "compact" ? "Compact rows" : "Normal rows"}
        onClick={() => setDensity(next)}
      >
        <Icon name="rows" />
      </ActionIcon>
    </Tooltip>
  );
}

/** Shows or hides the chart of the volume. */
export function ChartSwitch({ shown, onChange }: { shown: boolean; onChange: (shown: boolean) => void }) {
  const label = shown ? "Hide chart" : "Show chart";
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="default"
        size={30}
        aria-label={label}
        aria-expanded={shown}
        onClick={() => onChange(!shown)}
      >
        <Icon name="chart" />
      </ActionIcon>
    </Tooltip>
  );
}

/** The URL of an export with the current filters and columns. */
export function exportUrl(
  format: "csv" | "jsonl",
  filters: Filters,
  range: Range,
  columns: string[],
  zone: string | undefined,
): string {
  const names = chosenColumns(columns).flatMap((column) => column.exported);
  const all = [...new Set(["id", ...names])].join(",");
  return `/api/v1/requests/export${stringifySearch({ ...filters, ...range, workspace: storedText("workspace"), zone, format, columns: all })}`;
}

interface ExportProps {
  filters: Filters;
  range: Range;
  columns: string[];
  opened: boolean;
  onChange: (opened: boolean) => void;
}

/** Exports the filtered requests, or copies the CLI command that lists them. */
export function ExportMenu({ filters, range, columns, opened, onChange }: ExportProps) {
  const [zone] = useZone();
  const url = (format: "csv" | "jsonl") => exportUrl(format, filters, range, columns, zoneName(zone));
  return (
    <Menu position="bottom-end" opened={opened} onChange={onChange}>
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<Icon name="download" size={14} />}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component="a" href={url("csv")} download>
          CSV (shown columns)
        </Menu.Item>
        <Menu.Item component="a" href={url("jsonl")} download>
          JSON Lines (shown columns)
        </Menu.Item>
        <Menu.Divider />
        <Group px="sm" py={4}>
          <CopyButton label="Copy as CLI command" text={cliCommand(filters, range)} />
        </Group>
      </Menu.Dropdown>
    </Menu>
  );
}
