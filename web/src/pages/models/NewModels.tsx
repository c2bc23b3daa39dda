import { Badge, Button, Group, Text } from "@mantine/core";
import { useState } from "react";

import { CopyButton } from "../../components/CopyButton";
import { type Column, DataTable } from "../../components/DataTable";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { plural } from "../../lib/numbers";
import type { NewModel } from "./models";
import type { Pricing } from "./PriceDialog";

// Number of rows shown before the rest is expanded.
const maxShown = 8;

interface Props {
  models: NewModel[];
  onPrice?: (pricing: Pricing) => void;
}

/** The models that are only in a provider's model list and have no price, newest first. Renders nothing if there are none. */
export function NewModels({ models, onPrice }: Props) {
  const [all, setAll] = useState(false);
  if (models.length === 0) {
    return null;
  }
  const rows = all ? models : models.slice(0, maxShown);
  return (
    <Section title="New models seen" id="new-models">
      <Text size="sm" c="dimmed" mb="xs">
        These models are in a provider’s model list but have no price. <em>auto</em> never chooses them, and
        requests that name them need <code>allow_unpriced</code>.
      </Text>
      <DataTable
        label="New models seen"
        dense
        rows={rows}
        columns={columns(onPrice)}
        rowKey={(m) => `${m.provider}/${m.model}`}
        phone={(m) => ({
          top: (
            <Text span fw={600} size="sm" truncate>
              {m.model}
            </Text>
          ),
          bottom: (
            <>
              <Text span size="xs" c="dimmed" truncate>
                {m.provider} · <Time at={m.first_seen} as="age" />
              </Text>
              <Actions model={m} onPrice={onPrice} />
            </>
          ),
        })}
      />
      {models.length > maxShown && (
        <Button variant="subtle" size="compact-sm" mt="xs" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${plural(models.length, "new model")}`}
        </Button>
      )}
    </Section>
  );
}

function columns(onPrice?: (pricing: Pricing) => void): Column<NewModel>[] {
  return [
    {
      id: "model",
      label: "Model",
      maxWidth: 320,
      sort: (m) => m.model,
      render: (m) => (
        <Group gap={6} wrap="nowrap">
          <Text span fw={600} inherit truncate>
            {m.model}
          </Text>
          {m.callable && (
            <Badge
              size="xs"
              radius="sm"
              color="gray"
              title="Requests can call this model by name if their key allows unpriced models."
            >
              by name
            </Badge>
          )}
        </Group>
      ),
    },
    { id: "provider", label: "Provider", sort: (m) => m.provider, render: (m) => m.provider },
    {
      id: "first",
      label: "First seen",
      sort: (m) => m.first_seen,
      render: (m) => <Time at={m.first_seen} as="age" />,
    },
    { id: "actions", label: "", render: (m) => <Actions model={m} onPrice={onPrice} /> },
  ];
}

function Actions({ model, onPrice }: { model: NewModel; onPrice?: (pricing: Pricing) => void }) {
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      {onPrice && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Set price for ${model.model} at ${model.provider}`}
          onClick={() =>
            onPrice({
              model: { name: model.model, kind: model.kind, targets: [] },
              provider: model.provider,
            })
          }
        >
          Set price
        </Button>
      )}
      <CopyButton text={model.config} label="Copy configuration" size="compact-xs" />
    </Group>
  );
}
