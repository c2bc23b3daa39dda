import { Text, Tooltip } from "@mantine/core";

import { useZone } from "../lib/preferences";
import { formatAge, formatDay, formatBriefTime, formatMoment, formatRowTime, rowTime } from "../lib/time";

interface Props {
  at: string | null | undefined;
  /** row: short; brief: shorter; stack: short, on two lines; moment: date and time; day: date; age: relative to now. */
  as?: "row" | "brief" | "stack" | "moment" | "day" | "age";
  /** Placeholder for a missing time. */
  none?: string;
}

/** A time in the chosen zone; on hover in both zones, with its age. */
export function Time({ at, as = "row", none = "—" }: Props) {
  const [zone] = useZone();
  if (!at) {
    return (
      <Text span inherit c="dimmed">
        {none}
      </Text>
    );
  }
  const home = zone === "utc" ? "local" : zone;
  const text = {
    row: formatRowTime,
    brief: formatBriefTime,
    stack: formatRowTime,
    moment: formatMoment,
    day: formatDay,
    age: (iso: string) => formatAge(iso),
  }[as](at, zone);
  return (
    <Tooltip
      label={
        <>
          <div>
            {formatMoment(at, home)} {home === "local" ? "local time" : home}
          </div>
          <div>{formatMoment(at, "utc")}</div>
          <div>{formatAge(at)}</div>
        </>
      }
    >
      <time dateTime={at}>{as === "stack" ? <Stacked at={at} zone={zone} /> : text}</time>
    </Tooltip>
  );
}

/** The time with the day below it, unless it is today. */
function Stacked({ at, zone }: { at: string; zone: string }) {
  const { clock, day } = rowTime(at, zone);
  return (
    <>
      {clock}
      {day && (
        <Text component="span" display="block" fz="0.9em" c="dimmed">
          {day}
        </Text>
      )}
    </>
  );
}
