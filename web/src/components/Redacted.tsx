import { Highlight } from "@mantine/core";

import { markedEnd } from "../lib/longText";
import { splitRedacted } from "../lib/redacted";
import { LongText } from "./LongText";
import classes from "./Redacted.module.css";

/** Stored text with visible redaction marks and highlighted search matches. */
export function Redacted({ text, search = "" }: { text: string; search?: string }) {
  return splitRedacted(text).map((part, i) =>
    part.rule ? (
      <mark key={i} className={classes.mark} title={`Removed by the rule “${part.rule}”`}>
        {part.text}
      </mark>
    ) : search ? (
      <Highlighted key={i} text={part.text} search={search} />
    ) : (
      <LongText key={i} text={part.text} />
    ),
  );
}

function Highlighted({ text, search }: { text: string; search: string }) {
  const end = markedEnd(text, search);
  return (
    <>
      <Highlight highlight={search} component="span" inherit>
        {text.slice(0, end)}
      </Highlight>
      <LongText text={text.slice(end)} />
    </>
  );
}
