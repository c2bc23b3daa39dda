import { Button, Divider, Group, Paper, Stack, Text, Title } from "@mantine/core";

import { Icon } from "../../components/Icon";
import { PageLink } from "../../components/PageLink";
import classes from "./playground.module.css";
import type { Run } from "./run";
import { RunFacts } from "./RunFacts";
import { CandidateList } from "./CandidateList";

/** The panel next to a conversation with routing, timing and cost of the last prompt. */
export function RunPanel({ run, onExplain }: { run: Run | undefined; onExplain?: () => void }) {
  return (
    <Paper withBorder p="sm" className={classes.panel} component="section" aria-label="Run details">
      <Stack gap="sm">
        <Title order={2} size="h4">
          Run details
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
                <CandidateList trace={run.facts.trace} served={run.facts.model} />
              </>
            )}
          </>
        ) : (
          <Text size="sm" c="dimmed">
            Routing, timing and cost will appear here.
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

/** Links to the request in the log. The log has the request when the response is complete. */
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
