import { Group, Paper, Text } from "@mantine/core";

import type { Schema } from "../../../api/client";
import { DecisionBadge, OutcomeBadge, SimulatedBadge } from "../../../components/badges";
import { Time } from "../../../components/Time";
import { decisionDetail } from "../columns";
import { summaryOf } from "./summaryText";

/** The outcome of a request in one sentence. */
export function Summary({ request }: { request: Schema["RequestDetail"] }) {
  const running = request.state === "running";
  return (
    <Paper withBorder p="md" mb="md">
      <Group gap="xs" mb="xs">
        <OutcomeBadge outcome={running ? "running" : request.outcome} status={request.status} />
        {request.decision && <DecisionBadge decision={request.decision} detail={decisionDetail(request)} />}
        {request.simulated && <SimulatedBadge />}
        <Text size="xs" c="dimmed">
          <Time at={request.time} as="moment" />
        </Text>
      </Group>
      <Text>
        {summaryOf(request).map((part, i) =>
          typeof part === "string" ? part : <strong key={i}>{part.name}</strong>,
        )}
      </Text>
      {request.warnings.map((warning) => (
        <Text key={warning} size="sm" c="orange">
          {warning}
        </Text>
      ))}
    </Paper>
  );
}
