import { Badge, Group, SimpleGrid, Stack, Text, TextInput, UnstyledButton } from "@mantine/core";
import { useState } from "react";

import { Icon } from "../../components/Icon";
import { plural } from "../../lib/numbers";
import { customVendor, searchVendors, type Vendor } from "./connect";
import classes from "./providers.module.css";

/** The vendors that can be connected. */
export function Gallery({ vendors, onChoose }: { vendors: Vendor[]; onChoose: (vendor: Vendor) => void }) {
  const [text, setText] = useState("");
  const shown = searchVendors(vendors, text);
  return (
    <Stack gap="sm">
      <TextInput
        aria-label="Search providers"
        placeholder="Search providers"
        leftSection={<Icon name="search" size={14} />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        data-autofocus
      />
      <SimpleGrid cols={{ base: 2, sm: 3 }} spacing="xs">
        {shown.map((vendor) => (
          <UnstyledButton key={vendor.name} className={classes.vendor} onClick={() => onChoose(vendor)}>
            <Group gap={6} wrap="nowrap" justify="space-between">
              <Text size="sm" fw={600} truncate>
                {vendor.label}
              </Text>
              {vendor.connected && (
                <Badge size="xs" color="green" radius="sm" style={{ flexShrink: 0 }}>
                  connected
                </Badge>
              )}
            </Group>
            <Text size="xs" c="dimmed">
              {vendorText(vendor)}
            </Text>
          </UnstyledButton>
        ))}
      </SimpleGrid>
      {shown.length === 1 && (
        <Text size="sm" c="dimmed">
          No results. Use a custom endpoint for any server with a compatible API.
        </Text>
      )}
    </Stack>
  );
}

function vendorText(vendor: Vendor): string {
  if (vendor.name === customVendor) {
    return "Any compatible base URL";
  }
  if (!vendor.needs_key) {
    return "Your own server";
  }
  return vendor.models > 0 ? plural(vendor.models, "model") : "Models listed by the provider";
}
