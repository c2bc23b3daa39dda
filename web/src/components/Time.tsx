import { Text, Tooltip } from "@mantine/core";

import { useZone } from "../lib/preferences";
import { formatAge, formatDay, formatMoment, formatRowTime } from "../lib/time";

interface Props {
  at: string | null | undefined;
  /** row: as short as a list allows; moment: date and clock; day: the date; age: how long ago. */
  as?: "row" | "moment" | "day" | "age";
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
  const text = {
    row: formatRowTime,
    moment: formatMoment,
    day: formatDay,
    age: (iso: string) => formatAge(iso),
  }[as](at, zone);
  return (
    <Tooltip
      label={
        <>
          <div>{formatMoment(at, "local")} local</div>
          <div>{formatMoment(at, "utc")}</div>
          <div>{formatAge(at)}</div>
        </>
      }
    >
      <time dateTime={at}>{text}</time>
    </Tooltip>
  );
}
