import { Anchor, Badge, Box, Group, Paper, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { Icon } from "../../components/Icon";
import { Time } from "../../components/Time";
import { formatCount } from "../../lib/numbers";
import { type Fact, type FactGroup, groupFacts, kindTitles, placeOf, splitTimes } from "./attention";
import classes from "./overview.module.css";

// How many facts of one kind are named before the rest is only counted.
const named = 3;

/** What needs somebody to act, the most pressing first, each with the way to the place to do it. */
export function AttentionList({ facts }: { facts: Fact[] }) {
  return (
    <Paper withBorder p="md" component="section" aria-label="Needs attention">
      <Title order={2} size="h3" mb={4}>
        Needs attention
      </Title>
      {facts.length === 0 ? (
        <Group gap="xs" c="dimmed" py={4} wrap="nowrap">
          <Icon name="check" />
          <Text size="sm">Nothing: providers answer, budgets hold, every model has a price.</Text>
        </Group>
      ) : (
        <ul className={classes.facts}>
          {groupFacts(facts).map((group) => (
            <FactItem key={group.kind} group={group} />
          ))}
        </ul>
      )}
    </Paper>
  );
}

function FactItem({ group }: { group: FactGroup }) {
  const { kind, severity, facts } = group;
  const shown = facts.slice(0, named);
  const rest = facts.length - shown.length;
  const place = placeOf(kind, facts.length === 1 ? facts[0]?.object : undefined);
  return (
    <li className={classes.fact}>
      <Badge
        color={severity === "error" ? "red" : "orange"}
        radius="sm"
        mt={2}
        miw={88}
        leftSection={<Icon name="alert" size={12} />}
        style={{ flexShrink: 0 }}
      >
        {severity}
      </Badge>
      <Box className={classes.words}>
        <Text size="sm" fw={600}>
          {kindTitles[kind]}
          {facts.length > 1 && ` · ${facts.length}`}
        </Text>
        {shown.map((fact) => (
          <Text key={fact.object} size="sm" style={{ overflowWrap: "anywhere" }}>
            {fact.label !== fact.message && <strong>{fact.label}</strong>} <Message text={fact.message} />
          </Text>
        ))}
        {rest > 0 && (
          <Text size="sm" c="dimmed">
            and {formatCount(rest)} more
          </Text>
        )}
      </Box>
      <Anchor
        component={Link}
        to={place.to}
        search={place.search as never}
        size="sm"
        style={{ flexShrink: 0 }}
      >
        {place.label}
      </Anchor>
    </li>
  );
}

/** A message of the gateway with its times as the person reads times. */
function Message({ text }: { text: string }) {
  return (
    <span>
      {splitTimes(text).map((part, i) =>
        part.time ? <Time key={i} at={part.text} as="moment" /> : part.text,
      )}
    </span>
  );
}
