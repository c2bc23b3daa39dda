import { Anchor, Badge, Group, Text, Tooltip } from "@mantine/core";

import { SimulatedBadge } from "../../components/badges";
import { CircuitBadge } from "../../components/CircuitBadge";
import type { Column } from "../../components/DataTable";
import { PageLink } from "../../components/PageLink";
import { ShareBar } from "../../components/ShareBar";
import { formatCount, formatDuration, formatPercent, formatQuality, formatWindow } from "../../lib/numbers";
import {
  abilityText,
  bestPrice,
  isSimulated,
  isUnpriced,
  type Model,
  notableFirst,
  type Row,
  typicalTtft,
  worstCircuit,
} from "./models";
import { PriceCell, PriceMissing } from "./PriceCells";
import type { Pricing } from "./PriceDialog";
import { TargetList } from "./TargetList";

// Number of capabilities shown in a cell; the rest is listed on hover and on the model page.
const maxShown = 1;

/** The columns of the model table. */
export function modelColumns(
  kind: string,
  connects: boolean,
  onPrice?: (pricing: Pricing) => void,
): Column<Row>[] {
  const last: Column<Row>[] = [
    {
      id: "share",
      label: "Share",
      numeric: true,
      hint: "Share of this workspace’s requests in the last 24 hours",
      sort: (m) => m.share_percent,
      render: (m) => (m.targets.length === 0 ? "—" : <ShareBar percent={m.share_percent} />),
    },
    {
      id: "ttft",
      label: "TTFT",
      numeric: true,
      hint: "Median time to first token in the last 24 hours, or in the latest calls",
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
    {
      id: "circuit",
      label: "Health",
      render: (m) => (m.targets.length === 0 ? "—" : <CircuitBadge {...worstCircuit(m.targets)} />),
    },
  ];
  return [
    {
      id: "name",
      label: "Model",
      maxWidth: 150,
      sort: (m) => m.name,
      render: (m) => <Name model={m} />,
    },
    {
      id: "providers",
      label: "Providers",
      render: (m) =>
        m.targets.length === 0 ? (
          <NotConnected model={m} connects={connects} />
        ) : (
          <TargetList model={m} onPrice={onPrice} />
        ),
    },
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
    ...(kind === "chat" ? [quality] : []),
    ...last,
  ];
}

const quality: Column<Row> = {
  id: "quality",
  label: "Quality",
  numeric: true,
  hint: "Predicted by the router, from 0 to 1, averaged over all task types",
  sort: (m) => m.market?.quality?.mean,
  render: (m) => formatQuality(m.market?.quality?.mean),
};

function priceOf(of: "input" | "output" | "cache_read") {
  return (m: Row) => {
    const best = bestPrice(m.targets)?.price ?? (m.targets.length === 0 ? m.market?.price : undefined);
    const amount = best?.[`${of}_per_mtok_usd`];
    return amount == null ? null : Number(amount);
  };
}

const chatPrices: Column<Row>[] = [
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

function Name({ model }: { model: Row }) {
  return (
    <>
      <Anchor inherit component={PageLink} to="/models/$name" params={{ name: model.name }} fw={600}>
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

/** Marks a model without a provider, with a link to connect one that has it. */
function NotConnected({ model, connects }: { model: Row; connects: boolean }) {
  const vendor = model.market?.connect[0];
  return (
    <Text span size="xs" c="dimmed" style={{ whiteSpace: "nowrap" }}>
      Not connected
      {vendor && connects && (
        <>
          <br />
          <Anchor
            inherit
            component={PageLink}
            to="/providers"
            search={{ connect: vendor }}
            aria-label={`Connect ${vendor} for ${model.name}`}
          >
            Connect
          </Anchor>
        </>
      )}
    </Text>
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
  if (model.targets.length === 0) {
    // Hundreds of rows: a plain title is much cheaper than a tooltip.
    return (
      <Text span size="xs" title={names.join(", ")}>
        {names.slice(0, maxShown).join(", ")}
        {rest > 0 && ` +${rest}`}
      </Text>
    );
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
