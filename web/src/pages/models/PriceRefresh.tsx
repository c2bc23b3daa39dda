import { Button, Group, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, must, type Schema } from "../../api/client";
import { priceRefreshQuery } from "../../api/queries";
import { useSession } from "../../lib/session";
import { type Column, DataTable } from "../../components/DataTable";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";

type Pending = Schema["PendingPriceView"];

/** Asks whether prices and new models are read from published lists. They are not read until the answer is yes. */
export function RefreshQuestion() {
  const { may } = useSession();
  const { data } = useQuery(priceRefreshQuery);
  const save = useSaved((refresh: "daily" | "off") =>
    must(api.PUT("/prices/refresh", { body: { refresh } })),
  );
  if (!data) {
    return null;
  }
  const editable = data.managed_by === "dashboard" && may("manage_models");
  return (
    <Group gap="sm">
      <Text size="sm" flex="1 1 320px">
        {stateOf(data)}
      </Text>
      {editable && data.refresh !== "daily" && (
        <Button size="xs" loading={save.isPending} onClick={() => save.mutate("daily")}>
          Read them daily
        </Button>
      )}
      {editable && data.refresh !== "off" && (
        <Button size="xs" variant="default" loading={save.isPending} onClick={() => save.mutate("off")}>
          {data.refresh === "" ? "No" : "Turn off"}
        </Button>
      )}
      {save.error && <ErrorPanel what="Could not save the answer" error={save.error} />}
    </Group>
  );
}

function stateOf({ refresh, checked_at }: Schema["RefreshView"]) {
  switch (refresh) {
    case "":
      return "Read prices and new models once a day from models.dev and openrouter.ai? Nothing is read until you choose.";
    case "off":
      return "Prices and new models come only with new versions of Fairlead.";
    case "daily":
      return (
        <>
          Prices and new models are read once a day from models.dev and openrouter.ai
          {checked_at && (
            <>
              , last <Time at={checked_at} as="age" />
            </>
          )}
          .
        </>
      );
  }
  return `Prices and new models are read from ${refresh}.`;
}

/** The listed prices that change so much that an owner must accept them. Renders nothing if there are none. */
export function PendingPrices() {
  const { may } = useSession();
  const { data } = useQuery(priceRefreshQuery);
  const decide = useSaved((body: { provider: string; model: string; accept: boolean }) =>
    must(api.POST("/prices/decide", { body })),
  );
  if (!data || data.pending.length === 0) {
    return null;
  }
  const actions = (p: Pending) =>
    may("manage_models") && (
      <Group gap="xs" wrap="nowrap">
        {[true, false].map((accept) => (
          <Button
            key={String(accept)}
            size="compact-xs"
            variant={accept ? "filled" : "default"}
            disabled={decide.isPending}
            onClick={() => decide.mutate({ provider: p.provider, model: p.model, accept })}
          >
            {accept ? "Accept" : "Reject"}
          </Button>
        ))}
      </Group>
    );
  const columns: Column<Pending>[] = [
    { id: "model", label: "Model", render: (p) => `${p.model} on ${p.provider}` },
    { id: "old", label: "Price so far", numeric: true, render: (p) => priceOf(p.old) },
    { id: "new", label: "Listed price", numeric: true, render: (p) => priceOf(p.new) },
    { id: "decide", label: "Decision", render: actions },
  ];
  return (
    <Section title="Price changes to decide" id="pending-prices">
      <Text size="sm" c="dimmed" mb="xs">
        The list changes these prices by a factor of five or more, which is often an error of the list. They
        apply only after you accept them.
      </Text>
      {decide.error && <ErrorPanel what="Could not save the decision" error={decide.error} />}
      <DataTable
        label="Price changes to decide"
        dense
        rows={data.pending}
        columns={columns}
        rowKey={(p) => `${p.provider}/${p.model}`}
        phone={(p) => ({ top: p.model, bottom: actions(p) })}
      />
    </Section>
  );
}

function priceOf(price: Pending["old"]) {
  return price ? `$${price.input_per_mtok_usd} in, $${price.output_per_mtok_usd} out` : "—";
}

/** A mutation whose result replaces the stored state. */
function useSaved<T>(mutationFn: (input: T) => Promise<Schema["RefreshView"]>) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn,
    onSuccess: (saved) => {
      queryClient.setQueryData(priceRefreshQuery.queryKey, saved);
      void queryClient.invalidateQueries({ queryKey: ["models"] });
    },
  });
}
