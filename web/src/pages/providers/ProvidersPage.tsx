import { Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { providersQuery } from "../../api/queries";
import { EmptyState } from "../../components/EmptyState";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { useSession } from "../../lib/session";
import { ProviderCard } from "./ProviderCard";
import { inOrder } from "./providers";

// Circuits open and close within seconds.
const refreshMs = 2000;

/** The configured providers. */
export function ProvidersPage() {
  const { may, workspace } = useSession();
  const { data, error, refetch } = useQuery({ ...providersQuery, refetchInterval: refreshMs });
  return (
    <>
      <PageHeader
        title="Providers"
        description="Providers from the environment, the configuration file and local servers"
      />
      {data ? (
        <Stack gap="sm">
          {data.providers.length === 0 && <NoProviders />}
          {inOrder(data.providers).map((provider) => (
            <ProviderCard
              key={provider.name}
              provider={provider}
              editable={may("manage_providers")}
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

function NoProviders() {
  return (
    <EmptyState
      icon="server"
      title="No providers yet"
      actions={
        <Button component={Link} to="/quickstart" variant="default">
          Open Quickstart
        </Button>
      }
    >
      Set a provider’s environment variable, such as OPENAI_API_KEY, and restart the gateway, or add a
      provider to the configuration file.
    </EmptyState>
  );
}
