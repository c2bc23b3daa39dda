import { VisuallyHidden } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";

import type { Schema } from "../../api/client";
import type { Policy } from "../../api/routing";
import { moved, problemsAt } from "./draft";
import { uniqueName } from "./examples";
import classes from "./policies.module.css";
import { PolicyItem } from "./PolicyItem";

interface Props {
  policies: Policy[];
  hits: Schema["PolicyHits"][] | undefined;
  source: "instance" | "workspace";
  /** Editing callbacks; without them the list is read-only. */
  editing?: {
    problems: Schema["PolicyProblem"][] | undefined;
    opened: number | undefined;
    onOpen: (index: number | undefined) => void;
    onChange: (policies: Policy[]) => void;
    form: (policy: Policy, index: number) => ReactNode;
  };
}

/** Policies in order of evaluation. They can be moved by dragging, keyboard and menu. */
export function PolicyList({ policies, hits, source, editing }: Props) {
  const [dragged, setDragged] = useState<number>();
  const [over, setOver] = useState<{ index: number; side: "before" | "after" }>();
  const [announcement, setAnnouncement] = useState("");
  const list = useRef<HTMLOListElement>(null);
  const focusIndex = useRef<number>(undefined);
  // The focus stays on a policy that is moved by keyboard.
  useEffect(() => {
    if (focusIndex.current !== undefined) {
      list.current?.children[focusIndex.current]?.querySelector<HTMLElement>("[draggable]")?.focus();
      focusIndex.current = undefined;
    }
  });
  const move = (from: number, to: number) => {
    const next = moved(policies, from, to);
    if (editing && next !== policies) {
      editing.onChange(next);
      editing.onOpen(editing.opened === from ? to : undefined);
      setAnnouncement(`Moved ${policies[from]?.name} to position ${to + 1} of ${policies.length}`);
    }
  };
  const drop = () => {
    if (dragged !== undefined && over) {
      const target = over.side === "after" ? over.index + 1 : over.index;
      move(dragged, target > dragged ? target - 1 : target);
    }
    setDragged(undefined);
    setOver(undefined);
  };
  return (
    <>
      <ol ref={list} className={classes.list}>
        {policies.map((policy, i) => (
          <PolicyItem
            key={i}
            policy={policy}
            index={i}
            count={policies.length}
            hits={hits?.find((hit) => hit.name === policy.name && hit.source === source)}
            opened={editing?.opened === i}
            problem={editing && Object.values(problemsAt(editing.problems, i))[0]}
            actions={
              editing && {
                onMove: (to) => {
                  focusIndex.current = to;
                  move(i, to);
                },
                onToggle: (on) =>
                  editing.onChange(policies.map((p, at) => (at === i ? withEnabled(p, on) : p))),
                onOpen: () => editing.onOpen(editing.opened === i ? undefined : i),
                onCopy: () => {
                  const copy = { ...policy, name: uniqueName(policy.name, policies) };
                  editing.onChange([...policies.slice(0, i + 1), copy, ...policies.slice(i + 1)]);
                  editing.onOpen(i + 1);
                },
                onRemove: () => {
                  editing.onChange(policies.filter((_, at) => at !== i));
                  editing.onOpen(undefined);
                },
                drag: {
                  dragged: dragged === i,
                  over: dragged !== undefined && over?.index === i ? over.side : undefined,
                  onStart: () => setDragged(i),
                  onOver: (side) =>
                    over?.index === i && over.side === side ? undefined : setOver({ index: i, side }),
                  onDrop: drop,
                  onEnd: () => {
                    setDragged(undefined);
                    setOver(undefined);
                  },
                },
              }
            }
          >
            {editing?.form(policy, i)}
          </PolicyItem>
        ))}
      </ol>
      <VisuallyHidden role="status">{announcement}</VisuallyHidden>
    </>
  );
}

/** Enables or disables a policy. Policies are enabled by default, so the field is omitted. */
function withEnabled(policy: Policy, on: boolean): Policy {
  const rest = { ...policy };
  delete rest.enabled;
  return on ? rest : { ...rest, enabled: false };
}
