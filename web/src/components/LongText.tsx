import { Fragment } from "react";

import { splitRuns } from "../lib/longText";

/** Text of any length. Long runs without spaces may wrap, and are copied unchanged. */
export function LongText({ text }: { text: string }) {
  return splitRuns(text).map((part, i) => (
    <Fragment key={i}>
      {i > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
