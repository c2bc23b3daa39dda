import { Anchor, Badge, Box, Group, Paper, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { Icon } from "../../components/Icon";
import { Time } from "../../components/Time";
import { formatCount } from "../../lib/numbers";
import {
  type AttentionGroup,
  type AttentionItem,
  groupItems,
  kindTitles,
  linkOf,
  splitTimes,
} from "./attention";
import classes from "./overview.module.css";

// Number of items of one kind that are listed; the rest is counted.
const maxListed = 3;

/** Conditions that need action, the most urgent first, with links to the pages to fix them. */
export function AttentionList({ items }: { items: AttentionItem[] }) {
  return (
    <Paper withBorder p="md" component="section" aria-label="Needs attention">
      <Title order={2} size="h3" mb={4}>
        Needs attention
      </Title>
      {items.length === 0 ? (
        <Group gap="xs" c="dimmed" py={4} wrap="nowrap">
          <Icon name="check" />
          <Text size="sm">No issues.</Text>
        </Group>
      ) : (
        <ul className={classes.facts}>
          {groupItems(items).map((group) => (
            <GroupItem key={group.kind} group={group} />
          ))}
        </ul>
      )}
    </Paper>
  );
}

function GroupItem({ group }: { group: AttentionGroup }) {
  const { kind, severity, items } = group;
  const shown = items.slice(0, maxListed);
  const rest = items.length - shown.length;
  const link = linkOf(kind, items.length === 1 ? items[0]?.object : undefined);
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
          {items.length > 1 && ` · ${items.length}`}
        </Text>
        {shown.map((item) => (
          <Text key={item.object} size="sm" style={{ overflowWrap: "anywhere" }}>
            {item.label !== item.message && <strong>{item.label}</strong>} <Message text={item.message} />
          </Text>
        ))}
        {rest > 0 && (
          <Text size="sm" c="dimmed">
            and {formatCount(rest)} more
          </Text>
        )}
      </Box>
      <Anchor component={Link} to={link.to} search={link.search as never} size="sm" style={{ flexShrink: 0 }}>
        {link.label}
      </Anchor>
    </li>
  );
}

/** A message of the gateway with its times in the chosen time zone. */
function Message({ text }: { text: string }) {
  return (
    <span>
      {splitTimes(text).map((part, i) =>
        part.time ? <Time key={i} at={part.text} as="moment" /> : part.text,
      )}
    </span>
  );
}
