import { Button, Divider, Group, Paper, Stack, Text, Title } from "@mantine/core";

import { Icon } from "../../components/Icon";
import { PageLink } from "../../components/PageLink";
import classes from "./playground.module.css";
import type { Run } from "./run";
import { RunFacts } from "./RunFacts";
import { Why } from "./Why";

/** The panel beside a conversation: what the router decided for the last question and what came of it. */
export function RunPanel({ run, onExplain }: { run: Run | undefined; onExplain?: () => void }) {
  return (
    <Paper withBorder p="sm" className={classes.panel} component="section" aria-label="What happened">
      <Stack gap="sm">
        <Title order={2} size="h4">
          What happened
        </Title>
        {run ? (
          <>
            <RunFacts run={run} />
            <Group gap="xs" grow>
              <OpenRequest run={run} />
              {onExplain && (
                <Button
                  size="xs"
                  variant="default"
                  leftSection={<Icon name="route" size={14} />}
                  onClick={onExplain}
                >
                  Dry run
                </Button>
              )}
            </Group>
            {run.facts.trace && (
              <>
                <Divider />
                <Why trace={run.facts.trace} served={run.facts.model} />
              </>
            )}
          </>
        ) : (
          <Text size="sm" c="dimmed">
            The decision appears here before the first token; then the time to it, tokens, cost, and what the
            baseline would have cost.
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

/** Opens the request in the log; it is there when the answer is complete. */
export function OpenRequest({ run }: { run: Run }) {
  const id = run.facts.requestId;
  if (!id?.startsWith("req_") || run.totalMs === undefined) {
    return (
      <Button size="xs" variant="default" leftSection={<Icon name="list" size={14} />} disabled>
        Open request
      </Button>
    );
  }
  return (
    <Button
      size="xs"
      variant="default"
      leftSection={<Icon name="list" size={14} />}
      component={PageLink}
      to="/requests/$id"
      params={{ id }}
    >
      Open request
    </Button>
  );
}
