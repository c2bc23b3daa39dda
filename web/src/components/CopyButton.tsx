import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { useState } from "react";

import { copyText } from "../lib/clipboard";
import { Icon } from "./Icon";

interface Props {
  text: string | (() => string);
  /** Label of the button: "Copy link". */
  label?: string;
  /** Whether to show an icon without a label. */
  compact?: boolean;
  variant?: string;
  size?: string;
}

type State = "idle" | "copied" | "failed";

/** Copies text, also on plain http, and shows whether it worked. */
export function CopyButton({ text, label = "Copy", compact, variant = "default", size = "xs" }: Props) {
  const [state, setState] = useState<State>("idle");
  const copy = async () => {
    const copied = await copyText(typeof text === "string" ? text : text());
    setState(copied ? "copied" : "failed");
    setTimeout(() => setState("idle"), 2000);
  };
  const shown = { idle: label, copied: "Copied", failed: "Could not copy. Select the text instead." }[state];
  const icon = <Icon name={state === "copied" ? "check" : state === "failed" ? "alert" : "copy"} size={14} />;
  if (compact) {
    return (
      <Tooltip label={shown}>
        <ActionIcon variant="subtle" color="gray" size="sm" aria-label={shown} onClick={() => void copy()}>
          {icon}
        </ActionIcon>
      </Tooltip>
    );
  }
  return (
    <Button variant={variant} size={size} leftSection={icon} onClick={() => void copy()}>
      <span aria-live="polite">{shown}</span>
    </Button>
  );
}
