import { VisuallyHidden } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";

import type { Schema } from "../../api/client";
import type { Policy } from "../../api/routing";
import { moved, problemsAt } from "./draft";
import { freeName } from "./examples";
import classes from "./policies.module.css";
import { PolicyItem } from "./PolicyItem";

interface Props {
  policies: Policy[];
  hits: Schema["PolicyHits"][] | undefined;
  source: "instance" | "workspace";
  /** Without it the list is only to be read. */
  editing?: {
    problems: Schema["PolicyProblem"][] | undefined;
    opened: number | undefined;
    onOpen: (index: number | undefined) => void;
    onChange: (policies: Policy[]) => void;
    form: (policy: Policy, index: number) => ReactNode;
  };
}

/** Policies in the order in which they are heard. They move by dragging, by keys and by a menu. */
export function PolicyList({ policies, hits, source, editing }: Props) {
  const [dragged, setDragged] = useState<number>();
  const [over, setOver] = useState<{ index: number; side: "before" | "after" }>();
  const [told, setTold] = useState("");
  const list = useRef<HTMLOListElement>(null);
  const follow = useRef<number>(undefined);
  // The focus goes along with what is moved by keys.
  useEffect(() => {
    if (follow.current !== undefined) {
      list.current?.children[follow.current]?.querySelector<HTMLElement>("[draggable]")?.focus();
      follow.current = undefined;
    }
  });
  const move = (from: number, to: number) => {
    const next = moved(policies, from, to);
    if (editing && next !== policies) {
      editing.onChange(next);
      editing.onOpen(editing.opened === from ? to : undefined);
      setTold(`${policies[from]?.name} is now ${to + 1} of ${policies.length}`);
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
                  follow.current = to;
                  move(i, to);
                },
                onToggle: (on) => editing.onChange(policies.map((p, at) => (at === i ? switched(p, on) : p))),
                onOpen: () => editing.onOpen(editing.opened === i ? undefined : i),
                onCopy: () => {
                  const copy = { ...policy, name: freeName(policy.name, policies) };
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
      <VisuallyHidden role="status">{told}</VisuallyHidden>
    </>
  );
}

/** On is what a policy is when nothing is said. */
function switched(policy: Policy, on: boolean): Policy {
  const rest = { ...policy };
  delete rest.enabled;
  return on ? rest : { ...rest, enabled: false };
}
