import { Text, Tooltip } from "@mantine/core";

import { useZone } from "../lib/preferences";
import { formatAge, formatDay, formatMoment, formatRowTime, rowTime } from "../lib/time";

interface Props {
  at: string | null | undefined;
  /** row: as short as a list allows; stack: the same on two lines; moment: date and clock; day: the date; age: how long ago. */
  as?: "row" | "stack" | "moment" | "day" | "age";
  /** What to say when there is no time. */
  none?: string;
}

/** A time in the zone that the person chose; on hover in both zones, with its age. */
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
            {formatMoment(at, home)} {home === "local" ? "local" : home}
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

/** The clock with the day below it, unless that is today. */
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
