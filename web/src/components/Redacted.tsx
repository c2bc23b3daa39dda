import { Highlight } from "@mantine/core";

import { markedEnd } from "../lib/longText";
import { redactedPieces } from "../lib/redacted";
import { LongText } from "./LongText";
import classes from "./Redacted.module.css";

/** A stored text in which the marks of redaction rules can be seen, with what is searched for highlighted. */
export function Redacted({ text, search = "" }: { text: string; search?: string }) {
  return redactedPieces(text).map((piece, i) =>
    piece.rule ? (
      <mark key={i} className={classes.mark} title={`Taken out by the rule “${piece.rule}”`}>
        {piece.text}
      </mark>
    ) : search ? (
      <Marked key={i} text={piece.text} search={search} />
    ) : (
      <LongText key={i} text={piece.text} />
    ),
  );
}

function Marked({ text, search }: { text: string; search: string }) {
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
