import { Alert, Button, Group, NavLink, Popover, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";

import { useZone } from "../lib/preferences";
import { bounds, isRelative, parseMoment, pin, type Range, ranges } from "../lib/range";
import { fieldMoment, fieldText, formatMoment, type Zone } from "../lib/time";
import { Icon } from "./Icon";

interface Props {
  range: Range;
  onChange: (range: Range) => void;
}

/** Selects a time range. Relative ranges stay relative in the URL until they are pinned. */
export function RangePicker({ range, onChange }: Props) {
  const [opened, setOpened] = useState(false);
  const [zone] = useZone();
  const known = ranges.find((r) => r.from === range.from && (!range.to || range.to === "now"));
  const choose = (next: Range) => {
    setOpened(false);
    onChange(next);
  };
  const label = known?.label ?? `${short(range.from, zone)} – ${range.to ? short(range.to, zone) : "now"}`;
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" shadow="md" trapFocus>
      <Popover.Target>
        <Button
          variant="default"
          size="xs"
          leftSection={<Icon name="clock" size={14} />}
          rightSection={<Icon name="chevronDown" size={12} />}
          onClick={() => setOpened(!opened)}
        >
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown p="xs" w={270}>
        {ranges.map((r) => (
          <NavLink
            key={r.from}
            component="button"
            type="button"
            label={r.label}
            active={r === known}
            onClick={() => choose({ from: r.from })}
          />
        ))}
        <Custom key={`${range.from}/${range.to}/${zone}`} range={range} zone={zone} onChange={choose} />
        {isRelative(range) && (
          <Button
            variant="subtle"
            size="xs"
            fullWidth
            mt="xs"
            leftSection={<Icon name="pin" size={14} />}
            onClick={() => choose(pin(range, Date.now()))}
          >
            Pin range
          </Button>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

/** Warns about invalid times in the URL and names the range that is shown instead. */
export function InvalidRange({ ends, range }: { ends: string[]; range: Range }) {
  if (ends.length === 0) {
    return null;
  }
  const shown =
    ranges.find((r) => r.from === range.from && !range.to)?.label.toLowerCase() ?? "valid part of the range";
  return (
    <Alert
      color="yellow"
      variant="outline"
      py={6}
      mb="sm"
      role="status"
      icon={<Icon name="alert" size={16} />}
    >
      Invalid {ends.length === 1 ? "time" : "times"} in the URL: {ends.map((end) => `“${end}”`).join(" and ")}
      . Showing the {shown}. Use a format such as now-24h or 2026-11-03T14:00:00Z.
    </Alert>
  );
}

function short(text: string, zone: Zone): string {
  const absolute = !text.startsWith("now") && parseMoment(text, 0) !== undefined;
  return absolute ? formatMoment(text, zone) : text;
}

function Custom({ range, zone, onChange }: Props & { zone: Zone }) {
  const [now] = useState(Date.now);
  const ends = bounds(range, now);
  const [from, setFrom] = useState(fieldText(ends.from, zone));
  const [to, setTo] = useState(fieldText(ends.to, zone));
  const [start, end] = [fieldMoment(from, zone), fieldMoment(to, zone)];
  const valid = start !== undefined && end !== undefined && start < end;
  return (
    <Stack gap={6} mt="xs">
      <TextInput
        size="xs"
        type="datetime-local"
        label="From"
        value={from}
        onChange={(e) => setFrom(e.currentTarget.value)}
      />
      <TextInput
        size="xs"
        type="datetime-local"
        label="To"
        value={to}
        onChange={(e) => setTo(e.currentTarget.value)}
        error={valid ? undefined : "The end must be after the start."}
      />
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {zone === "utc" ? "UTC" : zone === "local" ? "Local time" : zone}
        </Text>
        <Button
          size="xs"
          variant="default"
          disabled={!valid}
          onClick={() =>
            valid && onChange({ from: new Date(start).toISOString(), to: new Date(end).toISOString() })
          }
        >
          Apply
        </Button>
      </Group>
    </Stack>
  );
}
