import { Text, VisuallyHidden } from "@mantine/core";

import type { Schema } from "../../api/client";
import classes from "./policies.module.css";

const signs: Record<Schema["DiffLine"]["kind"], string> = { same: " ", added: "+", removed: "−", gap: "⋯" };
const srLabels: Partial<Record<Schema["DiffLine"]["kind"], string>> = {
  added: "added: ",
  removed: "removed: ",
};

/** A line diff. Signs mark changes, so that the meaning never depends on colour alone. */
export function DiffView({ lines, label }: { lines: Schema["DiffLine"][]; label: string }) {
  if (lines.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No differences.
      </Text>
    );
  }
  return (
    <div className={classes.diff} role="region" aria-label={label} tabIndex={0}>
      <table>
        <tbody>
          {lines.map((line, i) => (
            <tr key={i} data-kind={line.kind}>
              <td className={classes.number}>{line.old_line}</td>
              <td className={classes.number}>{line.new_line}</td>
              <td>
                <span aria-hidden>{signs[line.kind]} </span>
                {srLabels[line.kind] && <VisuallyHidden>{srLabels[line.kind]}</VisuallyHidden>}
                {line.kind === "gap" ? "unchanged lines" : line.text}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Summarises a diff: "3 lines added, 1 removed". */
export function diffCount(lines: Schema["DiffLine"][]): string {
  const count = (kind: string) => lines.filter((line) => line.kind === kind).length;
  const [added, removed] = [count("added"), count("removed")];
  return `${added === 1 ? "1 line" : `${added} lines`} added, ${removed} removed`;
}
