import { Anchor, Badge, Group, Text, Tooltip } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { SimulatedBadge } from "../../components/badges";
import { CircuitBadge } from "../../components/CircuitBadge";
import type { Column } from "../../components/DataTable";
import { ShareBar } from "../../components/ShareBar";
import type { Search } from "../../lib/filters";
import { formatCount, formatDuration, formatPercent, formatWindow } from "../../lib/numbers";
import {
  abilityText,
  bestPrice,
  isSimulated,
  isUnpriced,
  type Model,
  notableFirst,
  typicalTtft,
  worstCircuit,
} from "./models";
import { PriceCell, PriceMissing } from "./PriceCells";
import type { Pricing } from "./PriceDialog";
import { TargetList } from "./TargetList";

// Number of capabilities shown in a cell; the rest is listed on hover.
const maxShown = 2;

/** The columns of the model table. */
export function modelColumns(
  kind: string,
  searchOf: (m: Model) => Search,
  onPrice?: (pricing: Pricing) => void,
): Column<Model>[] {
  const last: Column<Model>[] = [
    {
      id: "share",
      label: "Share",
      numeric: true,
      hint: "Share of this workspace’s requests in the last 24 hours",
      sort: (m) => m.share_percent,
      render: (m) => <ShareBar percent={m.share_percent} />,
    },
    {
      id: "ttft",
      label: "TTFT",
      numeric: true,
      hint: "Median time to first token in the last 24 hours, or of the latest calls",
      sort: typicalTtft,
      render: (m) => formatDuration(typicalTtft(m)),
    },
    {
      id: "errors",
      label: "Error %",
      numeric: true,
      hint: "Share of this workspace’s requests that failed in the last 24 hours",
      sort: (m) => m.traffic.error_percent,
      render: (m) => formatPercent(m.traffic.error_percent),
    },
    { id: "circuit", label: "Health", render: (m) => <CircuitBadge {...worstCircuit(m.targets)} /> },
  ];
  return [
    {
      id: "name",
      label: "Model",
      maxWidth: 175,
      sort: (m) => m.name,
      render: (m) => <Name model={m} search={searchOf(m)} />,
    },
    { id: "providers", label: "Providers", render: (m) => <TargetList model={m} onPrice={onPrice} /> },
    {
      id: "context",
      label: "Context",
      numeric: true,
      hint: "Context window in tokens",
      sort: (m) => m.context || null,
      render: (m) => formatWindow(m.context),
    },
    {
      id: "in",
      label: "Input / M",
      numeric: true,
      hint: "Dollars per million input tokens",
      sort: priceOf("input"),
      render: (m) =>
        isUnpriced(m) ? <PriceMissing model={m} onPrice={onPrice} /> : <PriceCell model={m} of="input" />,
    },
    ...(kind === "chat" ? chatPrices : []),
    kind === "chat"
      ? { id: "abilities", label: "Capabilities", render: (m) => <Abilities model={m} /> }
      : {
          id: "dimensions",
          label: "Dimensions",
          numeric: true,
          hint: "Vector sizes, default first",
          render: (m) => m.dimensions.map((d) => formatCount(d)).join(" · ") || "—",
        },
    ...last,
  ];
}

function priceOf(of: "input" | "output" | "cache_read") {
  return (m: Model) => {
    const amount = bestPrice(m.targets)?.price[`${of}_per_mtok_usd`];
    return amount == null ? null : Number(amount);
  };
}

const chatPrices: Column<Model>[] = [
  {
    id: "out",
    label: "Output / M",
    numeric: true,
    hint: "Dollars per million output tokens",
    sort: priceOf("output"),
    render: (m) => <PriceCell model={m} of="output" />,
  },
  {
    id: "cache",
    label: "Cache / M",
    numeric: true,
    hint: "Dollars per million input tokens read from the provider’s cache",
    sort: priceOf("cache_read"),
    render: (m) => <PriceCell model={m} of="cache_read" />,
  },
];

function Name({ model, search }: { model: Model; search: Search }) {
  return (
    <>
      <Anchor inherit component={Link} to="/requests" search={search as never} fw={600}>
        {model.name}
      </Anchor>
      <Group gap={4} wrap="nowrap">
        {!isSimulated(model) && (
          <Text span size="xs" c="dimmed">
            {model.vendor}
          </Text>
        )}
        <Marks model={model} />
      </Group>
    </>
  );
}

/** Badges for simulated and deprecated models. */
export function Marks({ model }: { model: Model }) {
  return (
    <>
      {isSimulated(model) && <SimulatedBadge />}
      {model.deprecated && (
        <Badge size="xs" color="orange" radius="sm">
          deprecated
        </Badge>
      )}
    </>
  );
}

function Abilities({ model }: { model: Model }) {
  const names = notableFirst(model.abilities).map(abilityText);
  const rest = names.length - maxShown;
  if (names.length === 0) {
    return "—";
  }
  return (
    <Tooltip label={names.join(", ")} disabled={rest <= 0}>
      <Text span size="xs" tabIndex={rest > 0 ? 0 : undefined}>
        {names.slice(0, maxShown).join(", ")}
        {rest > 0 && ` +${rest}`}
      </Text>
    </Tooltip>
  );
}
