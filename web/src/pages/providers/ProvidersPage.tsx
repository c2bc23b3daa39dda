import { Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { providersQuery } from "../../api/queries";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { PanelSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { useSearchParams } from "../../lib/search";
import { useSession } from "../../lib/session";
import { ConnectDialog } from "./ConnectDialog";
import { ProviderCard } from "./ProviderCard";
import { inOrder } from "./providers";

// Circuits open and close within seconds.
const refreshMs = 2000;

/** The configured providers. */
export function ProvidersPage() {
  const { may, workspace } = useSession();
  const { data, error, refetch } = useQuery({ ...providersQuery, refetchInterval: refreshMs });
  const [search, change] = useSearchParams();
  const [connecting, setConnecting] = useState(false);
  const connects = may("connect_providers");
  const connect = connects && (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setConnecting(true)}>
      Connect provider
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Providers"
        description="Providers connected here, in the configuration file, or by environment variables"
        actions={connect}
      />
      <ConnectDialog
        opened={connects && (connecting || search["connect"] !== undefined)}
        first={search["connect"]}
        onClose={() => {
          setConnecting(false);
          change({ connect: undefined });
        }}
      />
      {data ? (
        <Stack gap="sm">
          {data.providers.length === 0 && <NoProviders connects={connects} />}
          {inOrder(data.providers).map((provider) => (
            <ProviderCard
              key={provider.name}
              provider={provider}
              editable={may("manage_providers")}
              connects={connects}
              operator={workspace.operator}
            />
          ))}
        </Stack>
      ) : error ? (
        <ErrorPanel what="Could not load providers" error={error} onRetry={() => void refetch()} />
      ) : (
        <Stack gap="sm">
          <PanelSkeleton height={180} />
          <PanelSkeleton height={180} />
        </Stack>
      )}
    </>
  );
}

function NoProviders({ connects }: { connects: boolean }) {
  return (
    <EmptyState icon="server" title="No providers yet">
      {connects
        ? "Connect a provider to route requests to its models. No restart is needed."
        : "Ask an operator of this gateway to connect a provider."}
    </EmptyState>
  );
}
