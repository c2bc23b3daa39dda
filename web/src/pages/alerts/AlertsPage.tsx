import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { RowsSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { useSession } from "../../lib/session";
import { Channels } from "./Channels";
import { History } from "./History";
import { type AlertRule, alertsQuery } from "./query";
import { RuleDialog } from "./RuleDialog";
import { Rules } from "./Rules";

/** The alert rules, channels and history of the workspace. */
export function AlertsPage() {
  const { may } = useSession();
  const { data, error, refetch } = useQuery(alertsQuery);
  const [editing, setEditing] = useState<AlertRule | "new">();
  const manages = may("manage_alerts");
  return (
    <>
      <PageHeader
        title="Alerts"
        description="Get a message when spending, errors, latency or quality cross a threshold."
        actions={
          manages &&
          data && (
            <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setEditing("new")}>
              Add rule
            </Button>
          )
        }
      />
      {error && <ErrorPanel what="Could not load alerts" error={error} onRetry={() => void refetch()} />}
      {!data && !error && <RowsSkeleton rows={4} />}
      {data && (
        <>
          <Rules alerts={data} manages={manages} onEdit={setEditing} />
          <Channels alerts={data} manages={manages} />
          <History />
          <RuleDialog alerts={data} editing={editing} onClose={() => setEditing(undefined)} />
        </>
      )}
    </>
  );
}
