import { Table, Text } from "@mantine/core";
import type { CSSProperties } from "react";

import type { Schema } from "../../api/client";
import { formatCount, plural } from "../../lib/numbers";
import { matrixOf, routeName } from "./matrix";
import classes from "./policies.module.css";

/** How many requests change from one model to another; darker cells have more requests. */
export function Matrix({ routes }: { routes: Schema["BacktestRoute"][] }) {
  const matrix = matrixOf(routes);
  if (matrix.from.length === 0) {
    return <Text size="sm">No request would use a different model.</Text>;
  }
  return (
    <>
      <div className={classes.scroll} role="region" aria-label="Route table" tabIndex={0}>
        <Table
          fz="sm"
          className={classes.matrix}
          withTableBorder
          withColumnBorders
          w="auto"
          aria-label="Changed routes"
        >
          <Table.Thead>
            <Table.Tr>
              <Table.Th>From ↓ To →</Table.Th>
              {matrix.to.map((to) => (
                <Table.Th key={to} scope="col" ta="right">
                  {routeName(to)}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {matrix.from.map((from) => (
              <Table.Tr key={from}>
                <Table.Th scope="row">{routeName(from)}</Table.Th>
                {matrix.to.map((to) => {
                  const n = matrix.at(from, to)?.requests;
                  return (
                    <Table.Td
                      key={to}
                      ta="right"
                      ff="monospace"
                      data-share={n ? true : undefined}
                      style={{ "--share": n ? n / matrix.most : 0 } as CSSProperties}
                    >
                      {n ? formatCount(n) : ""}
                    </Table.Td>
                  );
                })}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      {matrix.rest && (
        <Text size="xs" c="dimmed" mt={4}>
          {plural(matrix.rest.requests, "request")} with other, less frequent model changes.
        </Text>
      )}
    </>
  );
}
