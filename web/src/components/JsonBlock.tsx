import { splitJson } from "../lib/json";
import classes from "./Markdown.module.css";
import { Redacted } from "./Redacted";

/** JSON with line breaks and colours for keys, strings and other values. */
export function JsonBlock({ text, search }: { text: string; search?: string }) {
  return (
    <pre className={classes.json} tabIndex={0}>
      {splitJson(text).map((part, i) =>
        part.kind === "space" ? (
          part.text
        ) : (
          <span key={i} className={classes[part.kind]}>
            <Redacted text={part.text} search={search} invisible />
          </span>
        ),
      )}
    </pre>
  );
}
