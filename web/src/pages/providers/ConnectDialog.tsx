import { Alert, Modal, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, must } from "../../api/client";
import { providersQuery, vendorsQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { PanelSkeleton } from "../../components/Loading";
import { usePhone } from "../../lib/usePhone";
import { useReloadProviders } from "./actions";
import { type ConnectDraft, connectBody, emptyDraft, type Vendor } from "./connect";
import { ConnectForm } from "./ConnectForm";
import { ConnectResult } from "./ConnectResult";
import { Gallery } from "./Gallery";

interface Props {
  opened: boolean;
  /** Name of the vendor to begin with. */
  first?: string;
  onClose: () => void;
}

/** Connects a provider: choose a vendor, paste a key, test, live. */
export function ConnectDialog({ opened, first, onClose }: Props) {
  const phone = usePhone();
  return (
    <Modal opened={opened} onClose={onClose} title="Connect provider" size="lg" fullScreen={phone}>
      {opened && <Steps first={first} onClose={onClose} />}
    </Modal>
  );
}

function Steps({ first, onClose }: Omit<Props, "opened">) {
  const vendors = useQuery(vendorsQuery);
  const providers = useQuery(providersQuery);
  const [chosen, setChosen] = useState<Vendor | null>();
  const [edited, setDraft] = useState<ConnectDraft>();
  const reload = useReloadProviders();
  const connect = useMutation({
    mutationFn: (input: { vendor: Vendor; draft: ConnectDraft; test: boolean }) =>
      must(api.POST("/providers", { body: connectBody(input.vendor, input.draft, input.test) })),
    onSuccess: reload,
  });
  const error = vendors.error ?? providers.error;
  if (error) {
    return (
      <ErrorPanel
        what="Could not load the vendors"
        error={error}
        onRetry={() => void Promise.all([vendors.refetch(), providers.refetch()])}
      />
    );
  }
  if (!vendors.data || !providers.data) {
    return <PanelSkeleton height={320} />;
  }
  const taken = providers.data.providers.map((p) => p.name);
  if (connect.data) {
    return <ConnectResult connection={connect.data} onClose={onClose} />;
  }
  const vendor = chosen === undefined ? vendors.data.vendors.find((v) => v.name === first) : chosen;
  if (!vendor) {
    return (
      <Gallery
        vendors={vendors.data.vendors}
        onChoose={(next) => {
          setChosen(next);
          setDraft(emptyDraft(next, taken));
        }}
      />
    );
  }
  const draft = edited ?? emptyDraft(vendor, taken);
  return (
    <Stack gap="sm">
      {vendor.connected && (
        <Alert color="blue" variant="outline" py={6}>
          <Text size="sm">
            {vendor.label} is already connected. To add another key to it, close this and use Add credential.
          </Text>
        </Alert>
      )}
      <ConnectForm
        vendor={vendor}
        draft={draft}
        pending={connect.isPending}
        error={connect.error}
        onChange={setDraft}
        onSubmit={(test) => connect.mutate({ vendor, draft, test })}
        onBack={() => {
          setChosen(null);
          setDraft(undefined);
          connect.reset();
        }}
      />
    </Stack>
  );
}
