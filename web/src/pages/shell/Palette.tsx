import { Combobox, TextInput, useCombobox, VisuallyHidden } from "@mantine/core";
import { useMounted } from "@mantine/hooks";
import { useEffect, useState } from "react";

import { Icon } from "../../components/Icon";
import { plural } from "../../lib/numbers";
import { useGo } from "../../lib/search";
import type { Page } from "../../routes";
import type { Command } from "./palette";
import classes from "./Palette.module.css";
import { usePalette } from "./usePalette";

interface Props {
  onClose: () => void;
  pages: Page[];
}

/** The input of the command palette and its results, by kind. */
export function Palette({ onClose, pages }: Props) {
  const [text, setText] = useState("");
  const box = useCombobox({ opened: true });
  const go = useGo();
  const groups = usePalette(pages, text.trim());
  const commands = groups.flatMap((group) => group.commands);
  const first = commands[0]?.value;
  const { selectFirstOption, focusTarget } = box;
  // Renders again after the list has an id, because the input refers to this id.
  useMounted();
  // The dialog focuses its content before this component is loaded.
  useEffect(() => focusTarget(), [focusTarget]);
  useEffect(() => {
    selectFirstOption();
  }, [first, text, selectFirstOption]);
  const open = (value: string) => {
    const command = commands.find((one) => one.value === value);
    onClose();
    if (command?.href) {
      window.location.assign(command.href);
    } else if (command?.to) {
      void go(command.to);
    } else {
      command?.run?.();
    }
  };
  return (
    <Combobox store={box} withinPortal={false} onOptionSubmit={open}>
      <Combobox.EventsTarget withExpandedAttribute>
        <TextInput
          data-autofocus
          role="combobox"
          aria-autocomplete="list"
          aria-label="Search pages, keys, models, policies, sessions, messages and documentation, or paste a request ID"
          placeholder="Search, or paste a request ID"
          leftSection={<Icon name="search" />}
          maxLength={256}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </Combobox.EventsTarget>
      <VisuallyHidden role="status">{plural(commands.length, "result")}</VisuallyHidden>
      <Combobox.Options mt="xs" tabIndex={0} aria-label="Results" className={classes.results}>
        {groups.map((group) => (
          <Combobox.Group key={group.name} label={group.name}>
            {group.commands.map((command) => (
              <Combobox.Option key={command.value} value={command.value}>
                <Row command={command} />
              </Combobox.Option>
            ))}
          </Combobox.Group>
        ))}
        {commands.length === 0 && <Combobox.Empty>No results</Combobox.Empty>}
      </Combobox.Options>
    </Combobox>
  );
}

function Row({ command }: { command: Command }) {
  return (
    <div className={classes.row}>
      <Icon name={command.icon} size={14} />
      <div className={classes.texts}>
        <div className={classes.line}>{command.label}</div>
        {command.detail && <div className={classes.detail}>{command.detail}</div>}
      </div>
    </div>
  );
}
