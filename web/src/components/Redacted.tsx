import { Highlight } from "@mantine/core";

import { redactedPieces } from "../lib/redacted";
import classes from "./Redacted.module.css";

/** A stored text in which the marks of redaction rules can be seen, with what is searched for highlighted. */
export function Redacted({ text, search = "" }: { text: string; search?: string }) {
  return redactedPieces(text).map((piece, i) =>
    piece.rule ? (
      <mark key={i} className={classes.mark} title={`Taken out by the rule “${piece.rule}”`}>
        {piece.text}
      </mark>
    ) : search ? (
      <Highlight key={i} highlight={search} component="span" inherit>
        {piece.text}
      </Highlight>
    ) : (
      piece.text
    ),
  );
}
