import { Fragment } from "react";

import { splitRuns } from "../lib/longText";

/** Text of any length that people or models wrote. Long runs without spaces may be broken, and are copied unchanged. */
export function LongText({ text }: { text: string }) {
  return splitRuns(text).map((part, i) => (
    <Fragment key={i}>
      {i > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
