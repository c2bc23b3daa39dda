import { Combobox, Modal, TextInput, useCombobox } from "@mantine/core";
import { useState } from "react";

import { Icon, type IconName } from "../../components/Icon";
import { useZone } from "../../lib/preferences";
import { useSession } from "../../lib/session";
import type { Page } from "../../routes";
import { useTheme } from "./useTheme";
import { useGo } from "../../lib/search";

interface Command {
  label: string;
  icon: IconName;
  run: () => void;
}

interface Props {
  opened: boolean;
  onClose: () => void;
  pages: Page[];
}

/** Searches pages and actions; a pasted request ID opens the request. */
export function CommandPalette({ opened, onClose, pages }: Props) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      withCloseButton={false}
      yOffset="12vh"
      centered={false}
      padding="xs"
      attributes={{ content: { "aria-label": "Command palette" } }}
      title={null}
    >
      {opened && <Palette onClose={onClose} pages={pages} />}
    </Modal>
  );
}

function Palette({ onClose, pages }: Omit<Props, "opened">) {
  const [text, setText] = useState("");
  const box = useCombobox({ opened: true });
  const commands = useCommands(pages, text);
  return (
    <Combobox
      store={box}
      withinPortal={false}
      onOptionSubmit={(label) => {
        onClose();
        commands.find((command) => command.label === label)?.run();
      }}
    >
      <Combobox.EventsTarget>
        <TextInput
          data-autofocus
          aria-label="Search pages and actions, or paste a request ID"
          placeholder="Page, action or request ID"
          leftSection={<Icon name="search" />}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            box.selectFirstOption();
          }}
        />
      </Combobox.EventsTarget>
      <Combobox.Options mt="xs" tabIndex={0} aria-label="Commands" mah="50vh" style={{ overflow: "auto" }}>
        {commands.map((command) => (
          <Combobox.Option key={command.label} value={command.label}>
            <Icon name={command.icon} size={14} /> {command.label}
          </Combobox.Option>
        ))}
        {commands.length === 0 && <Combobox.Empty>No results</Combobox.Empty>}
      </Combobox.Options>
    </Combobox>
  );
}

function useCommands(pages: Page[], text: string): Command[] {
  const go = useGo();
  const { next } = useTheme();
  const [zone, setZone] = useZone();
  const { may, signOut } = useSession();
  const id = /req_[0-9a-zA-Z]+/.exec(text)?.[0];
  if (id) {
    return [
      {
        label: `Open request ${id}`,
        icon: "list",
        run: () => void go({ to: "/requests/$id", params: { id } }),
      },
    ];
  }
  const all: Command[] = [
    ...pages.map((page) => ({ label: page.title, icon: page.icon, run: () => void go({ to: page.path }) })),
    ...(may("manage_own_keys")
      ? [
          {
            label: "Create API key",
            icon: "plus" as const,
            run: () => void go({ to: "/settings/keys", search: { create: "1" } }),
          },
        ]
      : []),
    { label: "Change theme", icon: "sun", run: next },
    {
      label: zone === "utc" ? "Show local times" : "Show UTC times",
      icon: "clock",
      run: () => setZone(zone === "utc" ? "local" : "utc"),
    },
    { label: "Sign out", icon: "logout", run: signOut },
  ];
  return all.filter((command) => command.label.toLowerCase().includes(text.trim().toLowerCase()));
}
