import { Text } from "@mantine/core";

import { formatPercent } from "../lib/numbers";
import classes from "./ShareBar.module.css";

/** A percentage above a thin bar. */
export function ShareBar({ percent }: { percent: number | null | undefined }) {
  return (
    <span className={classes.share}>
      <Text span inherit>
        {formatPercent(percent)}
      </Text>
      <svg className={classes.bar} viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true">
        <rect width={100} height={3} className={classes.rest} />
        <rect width={Math.min(100, Math.max(0, percent ?? 0))} height={3} className={classes.part} />
      </svg>
    </span>
  );
}
