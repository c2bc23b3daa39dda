import { Badge, Table, Text } from "@mantine/core";

import { formatQuality } from "../../lib/numbers";
import { taskLabel } from "../../lib/tasks";
import type { ModelDetail } from "./ModelPage";
import classes from "./scatter.module.css";

const sources: Record<string, string> = {
  table: "Based on published benchmark scores and recorded outcomes.",
  prior: "Based on the vendor, price and release date: no scores of this model are published.",
  quality: "Based on the quality set for this model in the configuration file.",
};

/** The predicted quality by task type with its interval. */
export function TaskQuality({ model }: { model: ModelDetail }) {
  if (model.tasks.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        Quality is predicted only for chat models.
      </Text>
    );
  }
  return (
    <>
      <div className={classes.scroll} role="region" aria-label="Quality table" tabIndex={0}>
        <Table fz="sm" aria-label="Quality by task type">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Task type</Table.Th>
              <Table.Th ta="right">Quality</Table.Th>
              <Table.Th ta="right">95 % interval</Table.Th>
              <Table.Td />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {model.tasks.map((t) => (
              <Table.Tr key={t.task}>
                <Table.Td>
                  {taskLabel(t.task)}{" "}
                  {t.learned && (
                    <Badge
                      size="xs"
                      color="cyan"
                      radius="sm"
                      title="Outcomes of this workspace changed the prediction."
                    >
                      learned
                    </Badge>
                  )}
                </Table.Td>
                <Table.Td ta="right" ff="monospace">
                  {formatQuality(t.mean)}
                </Table.Td>
                <Table.Td ta="right" ff="monospace" style={{ whiteSpace: "nowrap" }}>
                  {formatQuality(t.low)} – {formatQuality(t.high)}
                </Table.Td>
                <Table.Td>
                  <svg className={classes.bar} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden>
                    <rect x={0} y={4.5} width={100} height={1} className={classes.track} />
                    <rect
                      x={100 * t.low}
                      y={2}
                      width={100 * (t.high - t.low)}
                      height={6}
                      className={classes.range}
                    />
                    <rect x={100 * t.mean - 0.6} y={0} width={1.2} height={10} className={classes.mean} />
                  </svg>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      <Text size="xs" c="dimmed" mt={4}>
        The router’s prediction: probability of a good response to a task of medium difficulty.{" "}
        {sources[model.rating?.source ?? ""]}
      </Text>
    </>
  );
}
