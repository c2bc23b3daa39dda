import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { ErrorPanel } from "../../components/ErrorPanel";
import { Money } from "../../components/Money";
import { ComparisonDialog, comparisonQuery } from "./ComparisonDialog";

/** Shows whether responses are compared with a baseline model, and a button that opens the dialog. */
export function ComparisonSummary({ editable }: { editable: boolean }) {
  const [opened, setOpened] = useState(false);
  const { data, error, refetch } = useQuery(comparisonQuery);
  if (error) {
    return <ErrorPanel what="Could not load the comparison" error={error} onRetry={() => void refetch()} />;
  }
  return (
    <Group maw={720} justify="space-between" wrap="nowrap">
      <Text size="sm" c="dimmed">
        {data?.settings ? (
          <>
            Comparing {Math.round(data.settings.share * 1e4) / 100} % of routed requests with{" "}
            {data.settings.baseline}. {data.compared.toLocaleString("en")} compared in the last 30 days for{" "}
            <Money amount={data.cost_usd} />.
          </>
        ) : (
          "Off. Compare routed responses with a baseline model to measure how routing affects quality."
        )}
      </Text>
      {editable && (
        <Button variant="default" onClick={() => setOpened(true)} style={{ flexShrink: 0 }}>
          {data?.settings ? "Change comparison" : "Set up comparison"}
        </Button>
      )}
      <ComparisonDialog opened={opened} onClose={() => setOpened(false)} />
    </Group>
  );
}
