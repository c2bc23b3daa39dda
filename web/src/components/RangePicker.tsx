import { Button, Group, NavLink, Popover, Stack, TextInput } from "@mantine/core";
import { useState } from "react";

import { useZone } from "../lib/preferences";
import { bounds, isRelative, pin, type Range, ranges } from "../lib/range";
import { formatMoment } from "../lib/time";
import { Icon } from "./Icon";

interface Props {
  range: Range;
  onChange: (range: Range) => void;
}

/** Chooses a range of time. Relative ranges stay relative in the address; "Pin" gives them fixed ends. */
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
        <Custom key={`${range.from}/${range.to}`} range={range} onChange={choose} />
        {isRelative(range) && (
          <Button
            variant="subtle"
            size="xs"
            fullWidth
            mt="xs"
            leftSection={<Icon name="pin" size={14} />}
            onClick={() => choose(pin(range, Date.now()))}
          >
            Pin to these minutes
          </Button>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

function short(text: string, zone: "local" | "utc"): string {
  return text.startsWith("now") ? text : formatMoment(text, zone);
}

function Custom({ range, onChange }: Props) {
  const [now] = useState(Date.now);
  const ends = bounds(range, now);
  const [from, setFrom] = useState(localText(ends.from));
  const [to, setTo] = useState(localText(ends.to));
  const valid = Date.parse(from) < Date.parse(to);
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
        error={valid ? undefined : "The end lies before the start."}
      />
      <Group justify="flex-end">
        <Button
          size="xs"
          variant="default"
          disabled={!valid}
          onClick={() => onChange({ from: new Date(from).toISOString(), to: new Date(to).toISOString() })}
        >
          Apply
        </Button>
      </Group>
    </Stack>
  );
}

/** The form that a field for date and time takes: local time without a zone. */
function localText(ms: number): string {
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 16);
}
