import { Box, Group, Text } from "@mantine/core";

import type { Schema } from "../../../api/client";
import { CachedBadge, DecisionBadge, OutcomeBadge, SimulatedBadge } from "../../../components/badges";
import { Time } from "../../../components/Time";
import { cacheText } from "../cacheText";
import { decisionDetail } from "../columns";
import { summaryOf } from "./summaryText";

/** The outcome of a request in one sentence. */
export function Summary({ request }: { request: Schema["RequestDetail"] }) {
  const running = request.state === "running";
  return (
    <Box mb="sm">
      <Group gap="xs" mb={6}>
        <OutcomeBadge outcome={running ? "running" : request.outcome} status={request.status} />
        {request.decision && <DecisionBadge decision={request.decision} detail={decisionDetail(request)} />}
        {request.simulated && <SimulatedBadge />}
        {request.cache_use?.status === "hit" && <CachedBadge detail={cacheText(request.cache_use)} />}
        <Text size="xs" c="dimmed">
          <Time at={request.time} as="moment" />
        </Text>
      </Group>
      <Text fz={{ base: "sm", sm: "md" }} style={{ overflowWrap: "anywhere" }}>
        {summaryOf(request).map((part, i) =>
          typeof part === "string" ? part : <strong key={i}>{part.name}</strong>,
        )}
      </Text>
      {request.warnings.map((warning) => (
        <Text key={warning} size="sm" c="orange">
          {warning}
        </Text>
      ))}
    </Box>
  );
}
