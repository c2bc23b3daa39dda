import { Button, Group, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must } from "../../api/client";
import { asApiError } from "../../api/errors";
import { modelsQuery, newModelsQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { notifyDone } from "../../lib/notify";
import { priceOrigin } from "../../lib/prices";
import type { Model, Target } from "./models";
import { type PriceDraft, priceBody, priceDraft, invalidPrices } from "./priceDraft";

/** The model and provider whose price is edited. */
export interface Pricing {
  model: Pick<Model, "name" | "kind" | "targets">;
  provider: string;
}

/** Sets the price of a model at a provider, or restores the list price. */
export function PriceDialog({ pricing, onClose }: { pricing: Pricing | undefined; onClose: () => void }) {
  return (
    <Modal
      opened={pricing !== undefined}
      onClose={onClose}
      title={pricing && `Price for ${pricing.model.name}`}
      size="md"
    >
      {pricing && <PriceForm key={pricing.model.name} pricing={pricing} onClose={onClose} />}
    </Modal>
  );
}

const fields: { name: keyof PriceDraft; label: string; required: boolean }[] = [
  { name: "input", label: "Input", required: true },
  { name: "output", label: "Output", required: true },
  { name: "cacheRead", label: "Cache read", required: false },
];

function PriceForm({
  pricing: { model, provider: first },
  onClose,
}: {
  pricing: Pricing;
  onClose: () => void;
}) {
  const [provider, setProvider] = useState(first);
  const target = model.targets.find((t) => t.provider === provider);
  const [draft, setDraft] = useState(() => priceDraft(target?.price));
  const { set, remove } = usePriceMutations(model.name, provider, onClose);
  const error = set.error ?? remove.error;
  const problems = error ? asApiError(error).problems : {};
  const wrong = invalidPrices(model.kind === "chat" ? draft : { ...draft, output: "0" });
  const choose = (name: string) => {
    setProvider(name);
    setDraft(priceDraft(model.targets.find((t) => t.provider === name)?.price));
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        set.mutate(draft);
      }}
    >
      <Stack gap="sm">
        {model.targets.length > 1 && (
          <Select
            label="Provider"
            allowDeselect={false}
            data={[...new Set(model.targets.map((t) => t.provider))]}
            value={provider}
            onChange={(name) => name && choose(name)}
          />
        )}
        <CurrentPrice target={target} provider={provider} />
        <Group grow align="flex-start">
          {fields
            .filter(({ name }) => model.kind === "chat" || name === "input")
            .map(({ name, label, required }) => (
              <TextInput
                key={name}
                label={label}
                required={required}
                inputMode="decimal"
                leftSection="$"
                placeholder={required ? "0.00" : "Same as input"}
                value={draft[name]}
                onChange={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
                error={wrong.has(name) && draft[name] !== "" ? "Enter an amount, such as 0.25" : undefined}
              />
            ))}
        </Group>
        <Text size="xs" c="dimmed">
          Dollars per million tokens. 0 means free. Applies to new requests.
        </Text>
        {error && (
          <ErrorPanel what={Object.values(problems)[0] ?? "Could not change the price"} error={error} />
        )}
        <Group justify="flex-end">
          {target?.price_set && (
            <Button variant="default" mr="auto" loading={remove.isPending} onClick={() => remove.mutate()}>
              Use list price
            </Button>
          )}
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={set.isPending} disabled={wrong.size > 0}>
            Set price
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function CurrentPrice({ target, provider }: { target: Target | undefined; provider: string }) {
  if (!target?.price) {
    return (
      <Text size="sm">
        No price at {provider}: <em>auto</em> never chooses this target, and its cost is unknown.
      </Text>
    );
  }
  const { word, detail } = priceOrigin(target.price);
  return (
    <Text size="sm" c="dimmed">
      Current: {word.toLowerCase()}
      {target.price.as_of && ` as of ${target.price.as_of}`}. {detail}
    </Text>
  );
}

function usePriceMutations(name: string, provider: string, onDone: () => void) {
  const queryClient = useQueryClient();
  const path = { name, provider };
  const onSuccess = async (message: string) => {
    await Promise.all(
      [modelsQuery, newModelsQuery].map(({ queryKey }) => queryClient.invalidateQueries({ queryKey })),
    );
    notifyDone(message);
    onDone();
  };
  const set = useMutation({
    mutationFn: (draft: PriceDraft) =>
      must(api.PUT("/models/{name}/prices/{provider}", { params: { path }, body: priceBody(draft) })),
    onSuccess: () => onSuccess(`Price of ${name} at ${provider} set.`),
  });
  const remove = useMutation({
    mutationFn: () => api.DELETE("/models/{name}/prices/{provider}", { params: { path } }),
    onSuccess: () => onSuccess(`List price of ${name} at ${provider} restored.`),
  });
  return { set, remove };
}
