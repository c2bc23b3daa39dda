import { Badge, Tooltip } from "@mantine/core";

import { Icon, type IconName } from "./Icon";

interface Look {
  icon: IconName;
  colour: string;
  word: string;
}

const decisions: Record<string, Look> = {
  expected: { icon: "check", colour: "gray", word: "expected" },
  fallback: { icon: "swap", colour: "orange", word: "fallback" },
  policy: { icon: "shield", colour: "violet", word: "policy" },
};

const outcomes: Record<string, Look> = {
  ok: { icon: "check", colour: "green", word: "ok" },
  client_error: { icon: "user", colour: "yellow", word: "client error" },
  upstream_error: { icon: "alert", colour: "red", word: "upstream error" },
  rejected: { icon: "ban", colour: "grape", word: "rejected" },
  cancelled: { icon: "x", colour: "gray", word: "cancelled" },
  partial: { icon: "alert", colour: "orange", word: "partial" },
  interrupted: { icon: "stop", colour: "orange", word: "interrupted" },
  gateway_error: { icon: "alert", colour: "red", word: "gateway error" },
  running: { icon: "activity", colour: "blue", word: "running" },
};

/** The decision of a request, with the policy or reason on hover. A rejected request has no decision. */
export function DecisionBadge({
  decision,
  detail,
}: {
  decision: string | null | undefined;
  detail?: string | null;
}) {
  if (!decision) {
    return (
      <Tooltip label="No decision: no model served this request.">
        <span>—</span>
      </Tooltip>
    );
  }
  return (
    <StateBadge
      look={decisions[decision] ?? { icon: "route", colour: "gray", word: decision }}
      detail={detail}
    />
  );
}

/** The outcome of a request, with the HTTP status of an error. */
export function OutcomeBadge(props: {
  outcome: string | null | undefined;
  status?: number | null;
  detail?: string | null;
}) {
  const name = props.outcome ?? "running";
  const look = outcomes[name] ?? { icon: "circle" as const, colour: "gray", word: name };
  const word = props.status && props.status >= 400 ? `${props.status} ${look.word}` : look.word;
  return <StateBadge look={{ ...look, word }} detail={props.detail} />;
}

/** A badge with icon, word and outline, so that the meaning never depends on colour alone. */
export function StateBadge({ look, detail }: { look: Look; detail?: string | null }) {
  const badge = (
    <Badge
      color={look.colour}
      leftSection={<Icon name={look.icon} size={11} />}
      size="sm"
      radius="sm"
      miw="max-content"
    >
      {look.word}
    </Badge>
  );
  return detail ? <Tooltip label={detail}>{badge}</Tooltip> : badge;
}

/** Marks requests that the response cache served. */
export function CachedBadge({ detail }: { detail: string }) {
  return (
    <Tooltip label={detail}>
      <Badge color="teal" size="xs" radius="sm">
        CACHED
      </Badge>
    </Tooltip>
  );
}

/** Marks requests that were escalated to a stronger model, with the reason on hover. */
export function EscalatedBadge({ detail }: { detail: string }) {
  return (
    <StateBadge
      look={{ icon: "arrowUp", colour: "indigo", word: "escalated" }}
      detail={`Escalated to a stronger model: ${detail}`}
    />
  );
}

/** Marks simulated requests and providers. */
export function SimulatedBadge() {
  return (
    <Tooltip label="Simulated: no provider was called and nothing was charged.">
      <Badge color="grape" size="xs" radius="sm">
        SIMULATED
      </Badge>
    </Tooltip>
  );
}
