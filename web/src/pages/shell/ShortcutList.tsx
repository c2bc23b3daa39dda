import { Group, Kbd, Modal, Table } from "@mantine/core";

import { activeShortcuts } from "../../lib/keyboard";

/** Lists the active keyboard shortcuts. */
export function ShortcutList({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts">
      {opened && (
        <Table>
          <Table.Tbody>
            {activeShortcuts().map((shortcut) => (
              <Table.Tr key={shortcut.keys}>
                <Table.Td>
                  <Group gap={4}>
                    {shortcut.keys.split(" ").map((key, i) => (
                      <Kbd key={i}>{key.replace("mod+k", "Ctrl/⌘ K")}</Kbd>
                    ))}
                  </Group>
                </Table.Td>
                <Table.Td>{shortcut.label}</Table.Td>
              </Table.Tr>
            ))}
            <Table.Tr>
              <Table.Td>
                <Kbd>Esc</Kbd>
              </Table.Td>
              <Table.Td>Close</Table.Td>
            </Table.Tr>
          </Table.Tbody>
        </Table>
      )}
    </Modal>
  );
}
