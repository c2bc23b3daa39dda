import { Button, Group, Menu, Modal } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../../api/client";
import { requestBodyQuery } from "../../../api/queries";
import { CopyButton } from "../../../components/CopyButton";
import { ErrorPanel } from "../../../components/ErrorPanel";
import { Icon } from "../../../components/Icon";
import { PanelSkeleton } from "../../../components/Loading";
import { PageLink } from "../../../components/PageLink";
import { copyText } from "../../../lib/clipboard";
import { useShortcuts } from "../../../lib/keyboard";
import { notifyDone, notifyFailed } from "../../../lib/notify";
import { useSession } from "../../../lib/session";
import { baseUrlOf, exampleBody, type Language, languages, snippet } from "../../../lib/snippets";
import { pages } from "../../../routes";
import { isChat } from "./conversation";
import { Trace } from "./Trace";

type Detail = Schema["RequestDetail"];

/** The permanent link to a request. */
function linkOf(id: string): string {
  return `${location.origin}/requests/${id}`;
}

/** The actions on a request. */
export function Actions({ request }: { request: Detail }) {
  const [explaining, setExplaining] = useState(false);
  const { may } = useSession();
  const stored = request.body_state === "stored" && may("read_bodies");
  const playground = pages.some((page) => page.path === "/playground");
  useShortcuts([
    {
      keys: "c",
      label: "Copy link",
      run: () => void copyText(linkOf(request.id)).then((ok) => ok && notifyDone("Link copied.")),
    },
  ]);
  return (
    <Group gap="xs" mb="md">
      <CopyButton label="Copy link" text={linkOf(request.id)} />
      <CopyAs request={request} stored={stored} />
      {playground && stored && isChat(request.endpoint) && (
        <Button
          size="xs"
          variant="default"
          component={PageLink}
          to="/playground"
          search={{ request: request.id }}
        >
          Open in Playground
        </Button>
      )}
      {may("use_playground") && may("read_bodies") && isChat(request.endpoint) && (
        <Button
          size="xs"
          variant="default"
          component={PageLink}
          to="/playground"
          search={{ request: request.id, compare: "1" }}
        >
          Run on other models
        </Button>
      )}
      <Button
        size="xs"
        variant="default"
        component={PageLink}
        to="/requests/compare"
        search={{ a: request.id }}
      >
        Compare
      </Button>
      {stored && (
        <Button
          size="xs"
          variant="default"
          leftSection={<Icon name="route" size={14} />}
          onClick={() => setExplaining(true)}
        >
          Explain with current policies
        </Button>
      )}
      <Modal
        opened={explaining}
        onClose={() => setExplaining(false)}
        title="Routing with current policies"
        size="xl"
      >
        {explaining && <Explain request={request} />}
      </Modal>
    </Group>
  );
}

/** Copies the request as code without the API key. If the prompt is not stored, the code has an example prompt. */
function CopyAs({ request, stored }: { request: Detail; stored: boolean }) {
  const queryClient = useQueryClient();
  const { server } = useSession();
  const copy = async (language: Language) => {
    const text = stored ? (await queryClient.ensureQueryData(requestBodyQuery(request.id))).request : null;
    const body: unknown = text ? JSON.parse(text) : { ...exampleBody, model: request.requested_model };
    const code = snippet(language, {
      baseUrl: baseUrlOf(server.public_url),
      endpoint: request.endpoint,
      body,
    });
    if (await copyText(code)) {
      notifyDone(
        stored
          ? "Code copied. It reads the API key from $FAIRLEAD_API_KEY."
          : "Code copied with an example prompt, because the prompt of this request is not stored.",
      );
    } else {
      notifyFailed("Could not copy. Open the Raw tab and copy the request from there.");
    }
  };
  return (
    <Menu>
      <Menu.Target>
        <Button size="xs" variant="default" rightSection={<Icon name="chevronDown" size={12} />}>
          Copy as
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {languages.map((language) => (
          <Menu.Item
            key={language.id}
            onClick={() => void copy(language.id).catch(() => notifyFailed("Could not load the prompt."))}
          >
            {language.label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** Routes the stored request again with the current models, prices and policies. No provider is called. */
function Explain({ request }: { request: Detail }) {
  const queryClient = useQueryClient();
  const explain = useMutation({
    mutationFn: async () => {
      const body = await queryClient.ensureQueryData(requestBodyQuery(request.id));
      return must(
        api.POST("/routing/explain", {
          body: {
            endpoint: request.endpoint === "embeddings" ? "embeddings" : "chat/completions",
            key_id: request.key_id ?? undefined,
            request: JSON.parse(body.request ?? "{}") as never,
          },
        }),
      );
    },
  });
  if (explain.isIdle) {
    return (
      <Button onClick={() => explain.mutate()} data-autofocus>
        Run without calling a provider
      </Button>
    );
  }
  if (explain.error) {
    return (
      <ErrorPanel
        what="Could not explain the routing"
        error={explain.error}
        onRetry={() => explain.mutate()}
      />
    );
  }
  if (!explain.data) {
    return <PanelSkeleton height={300} />;
  }
  return (
    <>
      {explain.data.refusal && (
        <ErrorPanel what="This request would be rejected" error={new Error(explain.data.refusal.message)} />
      )}
      {explain.data.decision && <Trace trace={explain.data.decision} />}
    </>
  );
}
