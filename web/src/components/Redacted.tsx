import { Highlight } from "@mantine/core";

import { splitInvisible } from "../lib/invisible";
import { markedEnd } from "../lib/longText";
import { splitRedacted } from "../lib/redacted";
import { LongText } from "./LongText";
import classes from "./Redacted.module.css";

interface Props {
  text: string;
  search?: string;
  /** Whether to mark invisible characters, such as zero-width spaces. */
  invisible?: boolean;
}

/** Stored text with visible redaction marks and highlighted search matches. */
export function Redacted({ text, search = "", invisible }: Props) {
  return splitRedacted(text).map((part, i) =>
    part.rule ? (
      <mark key={i} className={classes.mark} title={`Redacted by the rule “${part.rule}”`}>
        {part.text}
      </mark>
    ) : (
      <Plain key={i} text={part.text} search={search} invisible={invisible} />
    ),
  );
}

function Plain({ text, search, invisible }: Props) {
  const parts = invisible ? splitInvisible(text) : [{ text }];
  return parts.map((part, i) =>
    "code" in part ? (
      <mark key={i} className={classes.invisible} title={`Invisible character: ${part.name}`}>
        {part.code}
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
